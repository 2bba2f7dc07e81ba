import { instrumentPath } from "../../../../wellknown/paths.ts";
import { wholePoints } from "../../../answers/rounding.ts";
import { THRESHOLDS } from "../../../score/signal-hysteresis.ts";
import type { Snapshot } from "../../../score/snapshot.ts";
import { type Html, html } from "../html.ts";
import { isThin } from "./marks.ts";
import { groupAddress, groupOf } from "./peers.ts";

/** Bounds of the bands of the map, which are the thresholds of the directions. */
const { enterShort, exitShort, exitLong, enterLong } = THRESHOLDS;
const BOUNDS = [0, enterShort, exitShort, exitLong, enterLong, 100];

/** Classes of the bands, from low to high scores. */
const BANDS = ["low2", "low1", "even", "high1", "high2"];

/** Most tiles: of more instruments, those are shown whose score is farthest from 50. */
const MAX_TILES = 300;

/** What a tile shows of an instrument. */
export type Tile = Pick<Snapshot, "instrument" | "score" | "coverage">;

/** The instruments as tiles by sector, or by class where they have none, colored by the band of their score,
 *  the highest first. */
export function marketMap(all: readonly Tile[]): Html | false {
  if (all.length < 2) return false;
  const strongest = all.toSorted((a, b) => Math.abs(b.score - 50) - Math.abs(a.score - 50));
  const shown = strongest.slice(0, MAX_TILES).toSorted((a, b) => b.score - a.score);
  const groups = [...Map.groupBy(shown, ({ instrument }) => groupOf(instrument))];
  return html`<section class="map" aria-labelledby="map">
<div class="section-head"><h3 id="map">By sector and score</h3>${legend}</div>
${all.length > MAX_TILES && html`<p class="quiet">The ${MAX_TILES} of ${all.length} with scores farthest from 50.</p>`}
<div class="card sectors">${groups.toSorted(([a], [b]) => a.localeCompare(b)).map(sector)}</div>
</section>`;
}

const legend = html`<p class="quiet bands">${BANDS.map(
  (name, band) => html`<span class="${name}">${BOUNDS[band]} to ${BOUNDS[band + 1]}</span>`,
)}<span class="thin">thin evidence</span></p>`;

const sector = ([group, tiles]: readonly [string, readonly Tile[]]): Html =>
  html`<div><p class="sector-name"><a href="${groupAddress(group)}">${group}</a></p><ul>${tiles.map(tile)}</ul></div>
`;

const tile = ({ instrument: { symbol }, score, coverage }: Tile): Html =>
  html`<li><a class="tile ${isThin(coverage) ? "thin" : bandOf(score)}" href="${instrumentPath(symbol)}">${symbol} <b>${wholePoints(score)}</b></a></li>`;

/** Class of the band of a score: the last one whose lower bound it reaches. */
const bandOf = (score: number): string | undefined =>
  BANDS[
    Math.min(
      BANDS.length - 1,
      BOUNDS.findLastIndex((bound) => score >= bound),
    )
  ];
