import { isoInstant } from "../../../answers/shared-members.ts";
import { currentVerdict, isFinalVerdict } from "../../../answers/track-record.ts";
import { LIVE_CLAIM, type LIVE_CLAIM_VERDICTS } from "../../../grading/live-claim.ts";
import type { ServedClaim } from "../../../grading/log-record.ts";
import { type Html, html } from "../../../markup/html.ts";
import { dateTimeHtml, fixedDecimalsHtml, percentHtml, wholeNumberHtml } from "./number-format.ts";
import { dayHtml, horizonText } from "./track-record-section.ts";

/** Labels of the verdicts on a claim. */
const CLAIM_VERDICT_TEXTS: Readonly<Record<(typeof LIVE_CLAIM_VERDICTS)[number], string>> = {
  insufficient_data: "not enough data",
  not_confirmed_live: "not confirmed live",
  confirmed_live: "confirmed live",
};

/** What a claim says, in one sentence. */
export const claimSentence = ({ terms: { assetClass, horizon } }: ServedClaim): string =>
  `The score ranks ${assetClass}s by the part of their returns over ${horizonText(assetClass, horizon)} that beta, volatility, size and sector do not explain, before costs.`;

/** The verdict that stands, as a label. */
export const claimVerdictText = (claim: ServedClaim): string =>
  CLAIM_VERDICT_TEXTS[currentVerdict(claim)];

/** Section of a claim: what is claimed, its figures so far, and when it is judged. */
export function claimSection(claim: ServedClaim): Html {
  const { terms, score, candidate, verdicts } = claim;
  const last = verdicts.at(-1);
  const next = terms.looks[verdicts.length];
  const { ic, stocks, years, expectedT } = LIVE_CLAIM.power;
  const row = (name: string, one: ServedClaim["score"]) =>
    html`<tr><th scope="row">${name}</th>${
      one === null
        ? html`<td colspan="4"><span class="quiet">too few sessions</span></td>`
        : html`<td>${wholeNumberHtml(one.dates)}</td><td><strong>${fixedDecimalsHtml(4)(one.value)}</strong></td><td>${fixedDecimalsHtml(4)(one.low)} to ${fixedDecimalsHtml(4)(one.high)}</td><td>${fixedDecimalsHtml(1)(one.t)}</td>`
    }</tr>\n`;
  return html`<section aria-labelledby="claim-${claim.methodHash}">
<h2 id="claim-${claim.methodHash}">What is claimed of the live score</h2>
<div class="card"><p>${claimSentence(claim)} Registered in the log on ${dateTimeHtml(isoInstant(terms.registeredAt))}, before the first session that judges it.</p>
<p class="verdict-word">${claimVerdictText(claim)}</p>
<p class="quiet">${
    last === undefined
      ? "No verdict was due yet."
      : html`Given on ${dayHtml(last.at)}.${!isFinalVerdict(last, claim) && " Late or corrected prices may still change it."}`
  }${next !== undefined && html` The next is given on ${dayHtml(next.at)}, at a significance of ${percentHtml(0)(next.significance)}.`} If the claim is true at the size that was measured (${ic}), a t of about ${expectedT} is to be expected of ${stocks} stocks after ${years} years: it will usually be unconfirmed although it is true.</p></div>
<table class="figures">
<caption>Mean neutral rank correlation, with its interval of 95 %</caption>
<thead><tr><th scope="col">Of</th><th scope="col">Sessions</th><th scope="col">Mean</th><th scope="col">Interval</th><th scope="col">t</th></tr></thead>
<tbody>${row("The score", score)}${row(LIVE_CLAIM.secondary, candidate)}</tbody>
</table>
</section>`;
}
