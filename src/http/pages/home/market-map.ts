import { roundToWholePoints } from "../../../answers/rounding.ts";
import { instrumentPath } from "../../../lib/paths.ts";
import type { Snapshot } from "../../../score/snapshot.ts";
import { type Html, html } from "../html.ts";
import { hasThinCoverage } from "./marks.ts";
import { peerGroupHref, peerGroupOf } from "./peers.ts";

/** Bounds of the score bands of the map. */
const BOUNDS = [0, 10, 40, 60, 90, 100];

/** CSS classes of the bands, from low to high scores. */
const BANDS = ["low2", "low1", "even", "high1", "high2"];

/**
 * Maximum number of tiles. If there are more instruments, those with scores farthest from 50 are
 * shown.
 */
const MAX_TILES = 300;

/** The data of an instrument that its tile shows. */
export type MapTile = Pick<Snapshot, "instrument" | "score" | "coverage">;
type ScoredTile = MapTile & { readonly score: number };

/**
 * Map of the instruments as tiles, highest score first. They are grouped by sector, or by asset
 * class if it has no sectors, and colored by the band of their score.
 */
export function marketMap(all: readonly MapTile[]): Html | false {
  if (all.length < 2) return false;
  const scored = all.filter((one): one is ScoredTile => one.score !== null);
  const strongest = scored.toSorted((a, b) => Math.abs(b.score - 50) - Math.abs(a.score - 50));
  const shown = strongest.slice(0, MAX_TILES).toSorted((a, b) => b.score - a.score);
  const groups = [...Map.groupBy(shown, ({ instrument }) => peerGroupOf(instrument))];
  return html`<section class="map" aria-labelledby="map">
<div class="section-head"><h2 id="map">By sector and score</h2>${legend}</div>
${all.length > MAX_TILES && html`<p class="quiet">The ${MAX_TILES} of ${all.length} with scores farthest from 50.</p>`}
<div class="card sectors">${groups.toSorted(([a], [b]) => a.localeCompare(b)).map(sector)}</div>
</section>`;
}

const legend = html`<p class="quiet bands">${BANDS.map(
  (name, band) => html`<span class="${name}">${BOUNDS[band]} to ${BOUNDS[band + 1]}</span>`,
)}<span class="thin">thin evidence</span></p>`;

const sector = ([group, tiles]: readonly [string, readonly ScoredTile[]]): Html =>
  html`<div><p class="sector-name"><a href="${peerGroupHref(group)}">${group}</a></p><ul>${tiles.map(tile)}</ul></div>
`;

const tile = ({ instrument: { symbol, assetClass }, score, coverage }: ScoredTile): Html =>
  html`<li><a class="tile ${hasThinCoverage({ assetClass, coverage }) ? "thin" : bandOf(score)}" href="${instrumentPath(symbol)}">${symbol} <b>${roundToWholePoints(score)}</b></a></li>`;

/** CSS class of the highest band whose lower bound a score reaches. */
const bandOf = (score: number): string | undefined =>
  BANDS[
    Math.min(
      BANDS.length - 1,
      BOUNDS.findLastIndex((bound) => score >= bound),
    )
  ];
