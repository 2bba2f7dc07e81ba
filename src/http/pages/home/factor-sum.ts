import { type Html, html } from "../../../markup/html.ts";
import { pointsText, withMinus } from "./figure-text.js";
import { type FactorAnswers, type FactorName, factorNames, factorStatusLabels } from "./marks.ts";

/** Height of a row, in CSS pixels. */
const ROW = 24;

/** The score at which the sum starts: 50, the middle. */
const START = 50;

/** Points between the score and a mark of the scale below which the mark would touch the score. */
const CLEARANCE = 6;

/** Horizontal position of a score in percent of the width, limited to the scale of 0 to 100. */
const place = (score: number): number => Number(Math.max(0, Math.min(100, score)).toFixed(1));

/**
 * Waterfall chart of the factors' points from 50 to the score: each row starts where the row above
 * it ends.
 */
export function factorSumChart(factors: FactorAnswers, score: number): Html {
  let at = START;
  const rows = Object.entries(factors).map(([name, { z, contribution, status }], row) => {
    const from = at;
    at += contribution;
    const text = z === null ? factorStatusLabels[status] : withMinus(pointsText(contribution));
    return sumRow({ name: name as FactorName, text, from, to: at, y: row * ROW });
  });
  const end = rows.length * ROW;
  const mark = (value: number, side: string) =>
    Math.abs(score - value) > CLEARANCE &&
    html`<text class="${side}" x="${value}%" y="${end + 20}">${value}</text>`;
  return html`<figure class="card sum" role="img" aria-label="From 50, the factors add up to the score ${score.toFixed(1)}">
<svg aria-hidden="true"><rect class="middle" x="50%" width="1" height="${end}"/>${rows}<rect class="total" x="${place(score)}%" width="2" y="${end - ROW}" height="${ROW + 6}"/><text class="mid strong" x="${place(score)}%" y="${end + 20}">${score.toFixed(0)}</text>${mark(0, "")}${mark(START, "mid")}${mark(100, "end")}</svg>
</figure>`;
}

interface SumRow {
  readonly name: FactorName;
  /** The points, or the reason why there are none. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** Top edge of the row, in CSS pixels. */
  readonly y: number;
}

function sumRow({ name, text, from, to, y }: SumRow): Html {
  const [left, right] = [place(Math.min(from, to)), place(Math.max(from, to))];
  const label = html`${factorNames[name]} <tspan class="strong">${text}</tspan>`;
  // The text is placed on the side with more room.
  const isRight = left + right < 100;
  return html`<rect class="rail" y="${y + 4}" width="100%" height="14"/><rect class="${to < from ? "down" : "up"}" x="${left}%" width="${(right - left).toFixed(1)}%" y="${y + 4}" height="14"/><text class="halo${!isRight && " end"}" x="${isRight ? right : left}%" dx="${isRight ? 6 : -6}" y="${y + 15}">${label}</text>`;
}
