import type { RequestHandler } from "express";
import { instrumentPath } from "../../../lib/paths.ts";
import { CSV_MEDIA_TYPE, csvEncoder } from "../../../tables/csv.ts";
import { tableOf } from "../../../tables/table.ts";
import { notCoveredReason } from "../../../tool/lookup.ts";
import { signalColumns } from "../../../tool/signal-row.ts";
import { linkToMarkdown } from "../../discovery/link-headers.ts";
import { queryOf } from "../../request-context.ts";
import { sendRepresentation } from "../../send-response.ts";
import { historyChoiceOf, snapshotsInRange, viewHistory } from "./history-view.ts";
import type { HomeContext } from "./home-context.ts";
import { cacheByInstrument } from "./instrument-cache.ts";
import { findInstrument, signInRequiredPage, unknownInstrumentPage } from "./instrument-lookup.ts";
import {
  instrumentMarkdown,
  signInRequiredMarkdown,
  unknownInstrumentMarkdown,
} from "./instrument-markdown.ts";
import { instrumentPage } from "./instrument-page.ts";
import { restrictViewToScopes, viewInstrument } from "./instrument-view.ts";
import { viewPeers } from "./peers.ts";
import { marketScriptHref } from "./script-route.ts";

/**
 * Shows the page of one instrument; other spellings of its symbol redirect to the canonical one.
 */
export function showInstrument(surroundings: HomeContext): RequestHandler {
  const { site, context, viewerOf, send, sendView } = surroundings;
  const viewOf = cacheByInstrument(context, (symbol) => viewInstrument(symbol, context));
  return async (req, res) => {
    const viewer = await viewerOf(req);
    const requested = String(req.params.symbol);
    if (!viewer.scopes.has("signals:read")) {
      return send(req, res, signInRequiredPage(requested, viewer), signInRequiredMarkdown(site));
    }

    const found = findInstrument(requested, context);
    if (found.kind !== "found") {
      const { candidates } = found;
      const unknown = { symbol: requested, why: notCoveredReason(context.market) };
      const page = unknownInstrumentPage(unknown, candidates, viewer);
      return send(req, res, page, unknownInstrumentMarkdown(unknown, candidates, site));
    }
    const { symbol } = found.instrument;
    const query = queryOf(req);
    if (symbol !== requested) {
      const search = query.size > 0 ? `?${query}` : "";
      return res.redirect(instrumentPath(symbol) + search);
    }

    const choice = historyChoiceOf(query);
    res.set("link", linkToMarkdown(site.baseUrl + instrumentPath(symbol)));
    const question = `instrument ${symbol} ${choice.range} ${choice.scale}`;
    return sendView(req, res, { viewer, question }, () => {
      const view = restrictViewToScopes(viewOf(symbol), viewer.scopes);
      const page = () =>
        instrumentPage({
          view,
          choice,
          site,
          viewer,
          history: viewHistory(symbol, choice.range, context),
          peers: viewPeers(symbol, context),
          dayMs: context.market.dayMs,
          scriptPath: marketScriptHref,
        });
      return { page, markdown: () => instrumentMarkdown(view, site) };
    });
  };
}

/** Sends the history of an instrument as CSV, with the columns of `get_signal`. */
export function showHistoryCsv({ context, viewerOf, shared }: HomeContext): RequestHandler {
  return async (req, res) => {
    const { scopes } = await viewerOf(req);
    const symbol = String(req.params.symbol);
    const found = scopes.has("signals:read") ? findInstrument(symbol, context) : undefined;
    if (found?.kind !== "found") return res.redirect(instrumentPath(symbol));
    const { range } = historyChoiceOf(queryOf(req));
    const table = await shared.of(`history ${found.instrument.symbol} ${range}`, () => {
      const past = snapshotsInRange(found.instrument.symbol, range, context);
      const { columns, rows } = tableOf(
        signalColumns,
        past.map((snapshot) => ({ snapshot, context })),
      );
      return { type: CSV_MEDIA_TYPE, body: csvEncoder(columns).add(rows) };
    });
    res.set({ "cache-control": "private, no-cache", vary: "Cookie" });
    return sendRepresentation(req, res, table);
  };
}
