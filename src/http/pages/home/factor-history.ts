import { type Html, html } from "../../../markup/html.ts";
import { barsPath, columnPanel, horizontalLine, plot, plotPanel } from "../../../markup/plot.ts";
import { type ColumnAxis, timeAxis } from "../../../markup/plot-axis.ts";
import type { FactorContributions } from "../../../score/composite.ts";
import type { HistoryPoint } from "./history-view.ts";
import type { FactorName } from "./marks.ts";
import { FULL_BAR_POINTS, factorNames } from "./marks.ts";
import { dateTimeHtml, pointsHtml as pointsText } from "./number-format.ts";

const FACTORS = Object.keys(factorNames) as FactorName[];

/** Maximum number of sessions drawn in a panel, as one bar each. */
const MAX_BARS = 52;

/** Id of the table that lists the values drawn in the chart. */
const POINTS_TABLE = "points-figures";

/** Axis in points. It is the same for every panel, so that the factors can be compared. */
const POINTS = { low: -FULL_BAR_POINTS, high: FULL_BAR_POINTS };

/** A session for which the contributions of the factors are known. */
interface Measured {
  readonly asOf: string;
  readonly contributions: FactorContributions;
}

/**
 * Chart of the factors' contributions over time: one panel per factor, at evenly spaced sessions.
 */
export function factorHistoryChart(points: readonly HistoryPoint[], dayMs: number): Html | false {
  const step = Math.ceil(points.length / MAX_BARS);
  const chosen = points.flatMap(({ asOf, contributions }, place) =>
    contributions !== undefined && (points.length - 1 - place) % step === 0
      ? [{ asOf, contributions }]
      : [],
  );
  if (chosen.length < 2) return false;
  const columns = timeAxis(
    chosen.map(({ asOf }) => Date.parse(asOf)),
    { dayMs },
  );
  return html`<section aria-labelledby="points">
<h2 id="points">Points over time</h2>
<figure class="card chart">
<p class="readout"><span>${step === 1 ? "Every session" : `Every ${step} sessions`}; each row from −${FULL_BAR_POINTS} to +${FULL_BAR_POINTS}.</span><output></output></p>
${plot(
  {
    label: `Points of the four factors at ${chosen.length} sessions`,
    columns,
    readout: { table: POINTS_TABLE, count: chosen.length },
  },
  html`${FACTORS.map((factor) => factorPanel(factor, chosen, columns))}${columnPanel(columns)}`,
)}
</figure>
<details class="more"><summary>The same in figures</summary>
<div class="scroller" tabindex="0"><table class="figures" id="${POINTS_TABLE}">
<caption>${chosen.length} sessions, newest first</caption>
<thead><tr><th scope="col">Session closed</th>${FACTORS.map((factor) => html`<th scope="col">${factorNames[factor]}</th>`)}</tr></thead>
<tbody>${chosen
    .toReversed()
    .map(
      ({ asOf, contributions }) =>
        html`<tr><th scope="row">${dateTimeHtml(asOf)}</th>${FACTORS.map((factor) => html`<td>${pointsText(contributions[factor])}</td>`)}</tr>\n`,
    )}</tbody>
</table></div>
</details>
</section>`;
}

/**
 * The panel of one factor. A contribution can exceed 50 points if other factors offset it; its bar
 * is then cut off at the edge, and the table shows the number.
 */
function factorPanel(factor: FactorName, chosen: readonly Measured[], columns: ColumnAxis): Html {
  const bars = chosen.map(({ contributions }, place) => ({
    place,
    from: 0,
    to: Math.max(POINTS.low, Math.min(POINTS.high, contributions[factor])),
  }));
  const drawn = (isUp: boolean) =>
    barsPath(
      bars.filter(({ to }) => to !== 0 && to > 0 === isUp),
      POINTS,
      columns,
    );
  return plotPanel({
    name: "p-factor",
    columns,
    axis: POINTS,
    shapes: html`${horizontalLine(0, POINTS, "zero")}<path class="up" d="${drawn(true)}"/><path class="down" d="${drawn(false)}"/>`,
    labels: [{ value: 0, text: factorNames[factor], name: "strong" }],
  });
}
