import { type Html, html } from "../html.ts";
import { pointsText, withMinus } from "./figure-text.js";
import { type FactorName, type Factors, factorNames } from "./marks.ts";

/** Height of a row in pixels. */
const ROW = 24;

/** The score from which the sum starts: no evidence either way. */
const START = 50;

/** A percentage of the width, within the scale. */
const place = (score: number): number => Number(Math.max(0, Math.min(100, score)).toFixed(1));

/** The sum of the points: each row starts where the one above it ended, from 50 to the score. */
export function factorSum(factors: Factors, score: number): Html {
  let at = START;
  const rows = Object.entries(factors).map(([name, { contribution }], row) => {
    const from = at;
    at += contribution;
    return sumRow({ name: name as FactorName, contribution, from, to: at, y: row * ROW });
  });
  const end = rows.length * ROW;
  return html`<figure class="card sum" role="img" aria-label="From 50, the factors add up to the score ${score.toFixed(1)}">
<svg aria-hidden="true"><rect class="middle" x="50%" width="1" height="${end}"/>${rows}<rect class="total" x="${place(score)}%" width="2" y="${end - ROW}" height="${ROW + 6}"/><text class="mid strong" x="${place(score)}%" y="${end + 20}">${score.toFixed(0)}</text><text class="mid" x="50%" y="${end + 20}">${Math.abs(score - START) > 6 && START}</text><text y="${end + 20}">0</text><text class="end" x="100%" y="${end + 20}">100</text></svg>
</figure>`;
}

interface SumRow {
  readonly name: FactorName;
  readonly contribution: number;
  readonly from: number;
  readonly to: number;
  /** Top in pixels. */
  readonly y: number;
}

function sumRow({ name, contribution, from, to, y }: SumRow): Html {
  const [left, right] = [place(Math.min(from, to)), place(Math.max(from, to))];
  const text = html`${factorNames[name]} <tspan class="strong">${withMinus(pointsText(contribution))}</tspan>`;
  // The text stands on the side with more room.
  const isRight = left + right < 100;
  return html`<rect class="rail" y="${y + 4}" width="100%" height="14"/><rect class="${contribution < 0 ? "down" : "up"}" x="${left}%" width="${(right - left).toFixed(1)}%" y="${y + 4}" height="14"/><text class="halo${!isRight && " end"}" x="${isRight ? right : left}%" dx="${isRight ? 6 : -6}" y="${y + 15}">${text}</text>`;
}
