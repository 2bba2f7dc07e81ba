import { type Html, html } from "../../../http/pages/html.ts";
import type { ClassResult } from "../class-results.ts";
import type { SteadinessMeasures } from "../risk/steadiness.ts";
import { sliceChart } from "./charts.ts";
import { coefficientRangeText, coefficientText, reportPercentText, tValueText } from "./figures.ts";
import { scrollableTable } from "./tables.ts";
import { sessionCountText } from "./words.ts";

/** Explains how steadiness is graded. */
export const STEADINESS_EXPLANATION =
  "Steadiness ranks the stocks of a close by their volatility, beta, distance from the year's high and losses. It is graded by its rank correlation with the deepest fall that followed: the lowest close against the close of the session after the ranking, 0 if none was lower. It says which stocks fell further, not which earned more; most of it is volatility.";

/** The report section on steadiness; `undefined` if it was not graded. */
export function steadinessSection({ steadiness }: ClassResult): Html | undefined {
  if (steadiness.length === 0) return undefined;
  return html`<h3>Steadiness</h3>
${steadiness.map(sentence).map((text) => html`<p>${text}</p>`)}
${scrollableTable({
  caption: "Share of stocks whose fall was among the deepest fifth of the date",
  columns: ["Sessions", "Riskiest fifth", "Second", "Third", "Fourth", "Steadiest fifth"],
  rows: steadiness.map(({ horizon, worstFifth }) => [
    String(horizon),
    ...worstFifth.map((share) => reportPercentText(share)),
  ]),
})}
<div class="charts">
${steadiness.map(({ horizon, years }) =>
  sliceChart(
    `Steadiness over ${sessionCountText(horizon)}, by year`,
    "Mean rank correlation of steadiness with the deepest fall.",
    years,
  ),
)}
</div>`;
}

/** The grades of steadiness as text, one line per horizon. */
export const steadinessLines = ({ steadiness }: ClassResult): readonly string[] =>
  steadiness.map((measures) => `  Steadiness: ${sentence(measures)}`);

function sentence({ horizon, ic, worstFifth }: SteadinessMeasures): string {
  const [riskiest, , , , steadiest] = worstFifth;
  const rank =
    ic === null
      ? ""
      : `rank correlation with the deepest fall ${coefficientText(ic.mean)}, 95 % interval ${coefficientRangeText(ic.interval)}, t ${tValueText(ic.t)}. `;
  return `${sessionCountText(horizon)}: ${rank}Among the deepest fifth of the falls of a date were ${reportPercentText(riskiest)} of the riskiest fifth and ${reportPercentText(steadiest)} of the steadiest.`;
}
