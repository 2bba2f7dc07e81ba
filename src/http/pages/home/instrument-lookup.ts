import { SymbolInput } from "../../../answers/shared-members.ts";
import { instrumentPath } from "../../../lib/paths.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { resolveSymbol, type SymbolResolution } from "../../../market/symbols.ts";
import { html } from "../../../markup/html.ts";
import { untrustedText } from "../elements.ts";
import type { PageAnswer } from "../page-answer.ts";
import type { HomeContext } from "./home-context.ts";
import { signInNotice } from "./home-page.ts";
import type { Viewer } from "./viewer.ts";

/** Finds an instrument. A text that cannot be a symbol is rejected without a lookup. */
export const findInstrument = (
  requested: string,
  { market }: HomeContext["context"],
): SymbolResolution =>
  SymbolInput.safeParse(requested).success
    ? resolveSymbol(market.instruments(), requested)
    : { kind: "unknown", candidates: [] };

/**
 * The page for viewers without access; the same for every symbol, so that it does not reveal which
 * instruments exist.
 */
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
