import { THRESHOLDS } from "../../../score/signal-hysteresis.ts";
import { type Html, html } from "../html.ts";
import { groupAddress } from "./peers.ts";

/** Bounds of the bands of the map, which are the thresholds of the directions. */
const { enterShort, exitShort, exitLong, enterLong } = THRESHOLDS;
const BOUNDS = [0, enterShort, exitShort, exitLong, enterLong, 100];

/** Classes of the bands, from low to high scores. */
const BANDS = ["low2", "low1", "even", "high1", "high2"];

/** Depths of a color: a fifth of a group each. */
const DEPTHS = 5;

/** How many instruments of each group have a score in each band, as a table with colored cells. */
export const marketMap = (groups: ReadonlyMap<string, readonly number[]>): Html | false =>
  groups.size > 1 &&
  html`<details class="more"><summary>By sector and score</summary>
<div class="scroller" tabindex="0"><table class="figures map">
<caption>Instruments by score; the deeper the color, the larger their share of the sector</caption>
<thead><tr><th scope="col">Sector or class</th>${BANDS.map((_, band) => html`<th scope="col">${BOUNDS[band]} to ${BOUNDS[band + 1]}</th>`)}</tr></thead>
<tbody>${[...groups].map(([group, scores]) => groupRow(group, scores))}</tbody>
</table></div>
</details>`;

function groupRow(group: string, scores: readonly number[]): Html {
  const counts = BANDS.map((_, band) => scores.filter((score) => bandOf(score) === band).length);
  return html`<tr><th scope="row"><a href="${groupAddress(group)}">${group}</a></th>${counts.map(
    (count, band) => {
      const depth = Math.ceil((DEPTHS * count) / scores.length);
      return html`<td class="${BANDS[band]} depth${depth}">${count > 0 && count}</td>`;
    },
  )}</tr>
`;
}

/** The band of a score: the last one whose lower bound it reaches. */
const bandOf = (score: number): number =>
  Math.min(
    BANDS.length - 1,
    BOUNDS.findLastIndex((bound) => score >= bound),
  );
