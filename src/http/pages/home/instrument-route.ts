import type { RequestHandler } from "express";
import { SymbolInput } from "../../../answers/common.ts";
import { instrumentPath } from "../../../lib/paths.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { resolveSymbol, type SymbolResolution } from "../../../market/symbols.ts";
import { html } from "../../../markup/html.ts";
import { CSV_MEDIA_TYPE, csvEncoder } from "../../../tables/csv.ts";
import { tableOf } from "../../../tables/table.ts";
import { notCoveredReason } from "../../../tool/lookup.ts";
import { signalColumns } from "../../../tool/signal-row.ts";
import { linkToMarkdown } from "../../discovery/link-headers.ts";
import { queryOf } from "../../request-context.ts";
import { sendRepresentation } from "../../send-response.ts";
import { untrustedText } from "../elements.ts";
import type { PageAnswer } from "../page-answer.ts";
import { historyChoiceOf, snapshotsInRange, viewHistory } from "./history-view.ts";
import type { HomeContext } from "./home-context.ts";
import { signInNotice } from "./home-page.ts";
import { cacheByInstrument } from "./instrument-cache.ts";
import {
  instrumentMarkdown,
  signInRequiredMarkdown,
  unknownInstrumentMarkdown,
} from "./instrument-markdown.ts";
import { instrumentPage } from "./instrument-page.ts";
import { restrictViewToScopes, viewInstrument } from "./instrument-view.ts";
import { viewPeers } from "./peers.ts";
import { marketScriptHref } from "./script-route.ts";
import type { Viewer } from "./viewer.ts";

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
      const why = notCoveredReason(context.market);
      const markdown = unknownInstrumentMarkdown({ symbol: requested, why }, candidates, site);
      return send(
        req,
        res,
        unknownInstrumentPage({ symbol: requested, why }, candidates, viewer),
        markdown,
      );
    }
    const { symbol } = found.instrument;
    if (symbol !== requested) return res.redirect(instrumentPath(symbol));

    const choice = historyChoiceOf(queryOf(req));
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

/** Finds an instrument. A text that cannot be a symbol is rejected without a lookup. */
export const findInstrument = (
  requested: string,
  { market }: HomeContext["context"],
): SymbolResolution =>
  SymbolInput.safeParse(requested).success
    ? resolveSymbol(market.instruments(), requested)
    : { kind: "unknown", candidates: [] };

/** The page for viewers without access; the same for every symbol, so that it does not reveal which
 *  instruments exist. */
export const signInRequiredPage = (requested: string, viewer: Viewer): PageAnswer => ({
  status: 403,
  heading: "For people who have an account",
  place: "market",
  isSignedIn: viewer.isSignedIn,
  body: signInNotice(instrumentPath(requested)),
});

/** The page for an unknown symbol. */
export const unknownInstrumentPage = (
  { symbol: requested, why }: { readonly symbol: string; readonly why: string },
  candidates: readonly Instrument[],
  viewer: Viewer,
): PageAnswer => ({
  status: 404,
  heading: "No such instrument",
  place: "market",
  isSignedIn: viewer.isSignedIn,
  body: html`<p class="lead">Nothing with the symbol ${untrustedText(requested)} is covered${why}.</p>
${
  candidates.length > 0 &&
  html`<p>Did you mean one of these?</p>
<ul class="candidates">${candidates.map(
    ({ symbol, name }) =>
      html`<li><a href="${instrumentPath(symbol)}">${symbol}</a> ${untrustedText(name)}</li>`,
  )}</ul>`
}
<p class="buttons"><a class="main" href="/#market">Look at all instruments</a></p>`,
});
