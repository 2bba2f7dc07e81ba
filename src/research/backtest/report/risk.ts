import { type Html, html } from "../../../markup/html.ts";
import { RISK_TABLE_FITTED_BEFORE } from "../../../risk/measured-table.ts";
import { RANGE_PROBABILITIES } from "../../../risk/ranges.ts";
import type { QlikeFigures, RiskEvidence, RiskVerdict } from "../../../risk/table.ts";
import type { ClassResult } from "../class-results.ts";
import type { CoverageSlice, RiskMeasures } from "../risk/measures.ts";
import { reliabilityChart } from "./charts.ts";
import {
  NO_VALUE,
  reportPercentText,
  reportSignedPercentText,
  reportWholeNumberText,
  tValueText,
} from "./figures.ts";
import { scrollableTable } from "./tables.ts";
import { sessionCountText } from "./words.ts";

const VERDICT_WORDS: Readonly<Record<RiskVerdict, string>> = {
  supported: "Supported",
  baseline: "Baseline",
  not_supported: "Not supported",
  insufficient_data: "Not enough data",
};

/** Explains how the verdict on a risk forecast is reached. */
export const RISK_FORECAST_EXPLANATION = `Volatility is forecast from the last 252 sessions and, for stocks over 5 sessions, from the day of the next report, and graded by QLIKE, y/f - ln(y/f) - 1, of the squared returns that followed; smaller is better. Ranges come from quantiles of outcomes before ${RISK_TABLE_FITTED_BEFORE}, start at the last known close, and are graded on what followed later. Supported: QLIKE is below that of the exponentially weighted mean (.94) with t under -2 on both sides of that date, and every range held within 3 points. Baseline: the forecast is that mean itself, and the ranges held as well. The chance of a fall is published only while its skill is above zero with its interval.`;

/** The report section on the risk forecasts of a class; `undefined` if none was graded. */
export function riskSection({ risk }: ClassResult): Html | undefined {
  if (risk.length === 0) return undefined;
  return html`<h3>Risk</h3>
${risk.map(sentence).map((text) => html`<p>${text}</p>`)}
${volatilityTable(risk)}
${risk.map(({ horizon, thirds, years, evidence }) =>
  coverageTable(`Shares within the ranges over ${sessionCountText(horizon)}`, [
    { label: "All", forecasts: evidence.forecasts, coverage: evidence.coverage },
    ...thirds,
    ...years,
  ]),
)}
<div class="charts">
${risk.map(({ horizon, fallPercent, fall }) =>
  reliabilityChart(
    `Chance of a fall over ${fallPercent} % in ${sessionCountText(horizon)}, and what came of it`,
    fall,
  ),
)}
</div>`;
}

/** The risk forecasts of a class as text, one line per horizon. */
export const riskLines = ({ risk }: ClassResult): readonly string[] =>
  risk.map((measures) => `  Risk: ${sentence(measures)}`);

function sentence({ horizon, fallPercent, evidence }: RiskMeasures): string {
  const { verdict, forecasts, qlike, coverage, fallSkill } = evidence;
  const held = RANGE_PROBABILITIES.map(
    (share, index) => `${reportPercentText(share, 0)} range ${reportPercentText(coverage[index])}`,
  ).join(", ");
  const skill = fallSkill
    ? ` Chance of a fall over ${fallPercent}\u00a0%: skill ${reportSignedPercentText(fallSkill.value)}, 95 % interval ${reportSignedPercentText(fallSkill.low)} to ${reportSignedPercentText(fallSkill.high)}.`
    : "";
  return (
    `${sessionCountText(horizon)}: ${VERDICT_WORDS[verdict]}. ` +
    `QLIKE before ${RISK_TABLE_FITTED_BEFORE} ${qlikeWords(qlike.before)}, after ${qlikeWords(qlike.after)}. ` +
    (forecasts === 0
      ? ""
      : `Held after it: ${held}, of ${reportWholeNumberText(forecasts)} forecasts.${skill}`)
  ).trim();
}

const qlikeWords = (figures: QlikeFigures | null): string =>
  figures === null
    ? NO_VALUE
    : `${loss(figures.forecast)} (weighted mean ${loss(figures.ewma)}, t ${tValueText(figures.t)})`;

const loss = (value: number): string => value.toFixed(3);

const volatilityTable = (risk: readonly RiskMeasures[]): Html =>
  scrollableTable({
    caption: `QLIKE of the volatility forecast and its rivals, before and from ${RISK_TABLE_FITTED_BEFORE}`,
    columns: ["Sessions", "Forecast", "Weighted mean", "Random walk", "t", "Verdict"],
    rows: risk.flatMap(({ horizon, evidence }) =>
      [evidence.qlike.before, evidence.qlike.after].map((figures, side) => [
        `${horizon}, ${side === 0 ? "before" : "after"}`,
        ...cellsOf(figures),
        verdictCell(evidence),
      ]),
    ),
  });

const cellsOf = (figures: QlikeFigures | null): readonly string[] =>
  figures === null
    ? [NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE]
    : [loss(figures.forecast), loss(figures.ewma), loss(figures.randomWalk), tValueText(figures.t)];

const verdictCell = ({ verdict }: RiskEvidence): string => VERDICT_WORDS[verdict];

const coverageTable = (caption: string, slices: readonly CoverageSlice[]): Html =>
  scrollableTable({
    caption,
    columns: [
      "Part",
      ...RANGE_PROBABILITIES.map((share) => reportPercentText(share, 0)),
      "Forecasts",
    ],
    rows: slices.map(({ label, coverage, forecasts }) => [
      label,
      ...coverage.map((share) => (forecasts === 0 ? NO_VALUE : reportPercentText(share))),
      reportWholeNumberText(forecasts),
    ]),
  });
