import { type Html, html } from "../../../markup/html.ts";
import type { ClassResult } from "../class-results.ts";
import type { SteadinessMeasures } from "../risk/steadiness.ts";
import { MAX_CALIBRATION_GAP, type WorstFifthChance } from "../risk/worst-fifth.ts";
import { reliabilityChart, sliceChart } from "./charts.ts";
import {
  coefficientRangeText,
  coefficientText,
  reportPercentText,
  reportWholeNumberText,
  tValueText,
} from "./figures.ts";
import { scrollableTable } from "./tables.ts";
import { sessionCountText } from "./words.ts";

/** Explains how steadiness is graded. */
export const STEADINESS_EXPLANATION =
  "Steadiness ranks the stocks of a close by their volatility, beta, distance from the year's high and losses, and the coins by their variance. It is graded by its rank correlation with the deepest fall that followed: the lowest close against the close of the session after the ranking, 0 if none was lower. It says which fell further, not which earned more; most of it is volatility.";

/** The report section on steadiness; `undefined` if it was not graded. */
export function steadinessSection({ steadiness }: ClassResult): Html | undefined {
  if (steadiness.length === 0) return undefined;
  return html`<h3>Steadiness</h3>
${steadiness.flatMap(sentences).map((text) => html`<p>${text}</p>`)}
${scrollableTable({
  caption: "Share of stocks whose fall was among the deepest fifth of the date",
  columns: ["Sessions", "Riskiest fifth", "Second", "Third", "Fourth", "Steadiest fifth"],
  rows: steadiness.map(({ horizon, worstFifth }) => [
    String(horizon),
    ...worstFifth.map((share) => reportPercentText(share)),
  ]),
})}
<div class="charts">
${steadiness.map(({ horizon, chance }) => reliabilityChart(`Chance of a fall among the deepest fifth, ${sessionCountText(horizon)}`, chance))}
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
  steadiness.flatMap((measures) => sentences(measures).map((text) => `  Steadiness: ${text}`));

function sentences({ horizon, ic, worstFifth, chance }: SteadinessMeasures): readonly string[] {
  const [riskiest, , , , steadiest] = worstFifth;
  const rank =
    ic === null
      ? ""
      : `rank correlation with the deepest fall ${coefficientText(ic.mean)}, 95 % interval ${coefficientRangeText(ic.interval)}, t ${tValueText(ic.t)}. `;
  const ranking = `${sessionCountText(horizon)}: ${rank}Among the deepest fifth of the falls of a date were ${reportPercentText(riskiest)} of the riskiest fifth and ${reportPercentText(steadiest)} of the steadiest.`;
  return chance === null ? [ranking] : [ranking, chanceSentence(horizon, chance)];
}

function chanceSentence(horizon: number, chance: WorstFifthChance): string {
  const { skill, skillInterval, largestGap, forecasts, withheld } = chance;
  const interval = skillInterval
    ? ` (95 % interval ${reportPercentText(skillInterval.low, 2)} to ${reportPercentText(skillInterval.high, 2)})`
    : "";
  return (
    `${sessionCountText(horizon)}: the chance of being among that fifth, fitted each January on earlier outcomes, has a Brier skill of ${reportPercentText(skill, 2)}${interval}; ` +
    `forecast and frequency differ by at most ${largestGap.toFixed(3)} in a tenth of ${reportWholeNumberText(forecasts)} forecasts. ${PUBLISHED_WORDS[withheld ?? "published"]}`
  );
}

const PUBLISHED_WORDS = {
  published: "By the rule it may be published.",
  skill_not_shown: "Not published: its skill does not lie above 0 with the whole of its interval.",
  not_calibrated: `Not published: the difference is above ${MAX_CALIBRATION_GAP}.`,
} as const;
