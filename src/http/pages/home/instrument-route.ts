import type { RequestHandler } from "express";
import { SymbolInput } from "../../../answers/common.ts";
import { whyNotCovered } from "../../../answers/lookup.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { type Resolution, resolveSymbol } from "../../../market/symbols.ts";
import { linkToMarkdown } from "../../discovery/link-headers.ts";
import { untrustedText } from "../elements.ts";
import { html } from "../html.ts";
import type { PageAnswer } from "../page-answer.ts";
import { type HomeContext, homeLinks } from "./frame.ts";
import { signInNotice } from "./home-page.ts";
import { cacheByInstrument } from "./instrument-cache.ts";
import { closedMarkdown, instrumentMarkdown, unknownMarkdown } from "./instrument-markdown.ts";
import { instrumentPage } from "./instrument-page.ts";
import { viewInstrument, visibleParts } from "./instrument-view.ts";
import { instrumentPath } from "./market-table.ts";
import { scriptAddress } from "./script-route.ts";
import type { Viewer } from "./viewer.ts";

/** Shows one instrument; other spellings of its symbol redirect to the canonical one. */
export function showInstrument({ site, context, viewerOf, send }: HomeContext): RequestHandler {
  const viewOf = cacheByInstrument(context, (symbol) => viewInstrument(symbol, context));
  return async (req, res) => {
    const viewer = await viewerOf(req);
    const requested = String(req.params.symbol);
    if (!viewer.scopes.has("signals:read")) {
      return send(req, res, closedPage(requested, viewer), closedMarkdown(site));
    }

    const found = find(requested, context);
    if (found.kind !== "found") {
      const { candidates } = found;
      const why = whyNotCovered(context.market);
      const markdown = unknownMarkdown({ symbol: requested, why }, candidates, site);
      return send(req, res, unknownPage({ symbol: requested, why }, candidates, viewer), markdown);
    }
    const { symbol } = found.instrument;
    if (symbol !== requested) return res.redirect(instrumentPath(symbol));

    const view = visibleParts(await viewOf(symbol), viewer.scopes);
    const page = instrumentPage(view, { site, viewer, scriptPath: scriptAddress });
    res.set("link", linkToMarkdown(site.baseUrl + instrumentPath(symbol)));
    send(req, res, page, instrumentMarkdown(view, site));
  };
}

/** Finds an instrument. A text that cannot be a symbol is not looked up. */
const find = (requested: string, { market }: HomeContext["context"]): Resolution =>
  SymbolInput.safeParse(requested).success
    ? resolveSymbol(market.instruments(), requested)
    : { kind: "unknown", candidates: [] };

/** The page for viewers without access; the same for every symbol, so that it does not reveal which
 *  instruments exist. */
const closedPage = (requested: string, viewer: Viewer): PageAnswer => ({
  status: 403,
  heading: "For people who have an account",
  links: homeLinks(viewer),
  body: signInNotice(instrumentPath(requested)),
});

const unknownPage = (
  { symbol: requested, why }: { readonly symbol: string; readonly why: string },
  candidates: readonly Instrument[],
  viewer: Viewer,
): PageAnswer => ({
  status: 404,
  heading: "No such instrument",
  links: homeLinks(viewer),
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
