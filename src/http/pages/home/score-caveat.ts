import { getFactors } from "../../../../tools/get-factors.ts";
import {
  DIRECTION_EVIDENCE_SUMMARY,
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
  SCORE_PURPOSE,
} from "../../../answers/meaning.ts";
import { paths } from "../../../lib/paths.ts";
import { html } from "../../../markup/html.ts";

/** What a score is worth, in one sentence that links to the figures behind it. */
export const scoreCaveat = html`<p class="caveat">${DIRECTION_EVIDENCE_SUMMARY}. <a href="${paths.trackRecord}#backtest">The figures</a></p>`;

/** The figures behind `scoreCaveat`, as a section of the track record. */
export const backtestSection = html`<section aria-labelledby="backtest">
<h2 id="backtest">The backtest, and the worth of a score</h2>
<div class="card"><p>The backtest is another figure, and never joined with the track record. ${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}</p>
<p>${SCORE_MEANING} ${SCORE_CAVEAT} ${SCORE_PURPOSE} You can <a href="${paths.reference}#${getFactors.name}">work every number out again</a>.</p></div>
</section>`;
