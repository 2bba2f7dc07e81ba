import { type Html, html } from "../html.ts";
import type { Darkpool } from "./instrument-view.ts";
import {
  columns,
  level,
  line,
  panel,
  plot,
  type TimeAxis,
  ticks,
  timeAxis,
  timePanel,
} from "./plot.ts";

/** Id of the table with the figures of the drawing. */
export const OFF_EXCHANGE_TABLE = "off-exchange-figures";

/** Shares traded off the exchanges, and the share of them that was marked short, by session. */
export function offExchangeFigure(days: Darkpool["days"], dayMs: number): Html | false {
  const oldestFirst = days.toReversed();
  if (oldestFirst.length < 2) return false;
  const time = timeAxis(
    oldestFirst.map(({ session }) => Date.parse(session)),
    { dayMs },
  );
  const shares = oldestFirst.map((day) => day.shares);
  const shorts = oldestFirst.map(({ shortVolumeRatio }) => shortVolumeRatio);
  return html`<figure class="card chart">
<p class="readout"><span>Shares off the exchanges; below, the share marked short.</span><output></output></p>
${plot(
  {
    label: `Off-exchange volume and short share of ${days.length} sessions`,
    table: OFF_EXCHANGE_TABLE,
    count: days.length,
    time,
  },
  html`${volumePanel(shares, time)}${shortPanel(shorts, time)}${timePanel(time)}`,
)}
</figure>`;
}

const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

function volumePanel(shares: readonly (number | null)[], time: TimeAxis): Html | false {
  const most = Math.max(...shares.map((some) => some ?? 0));
  if (most === 0) return false;
  const axis = { low: 0, high: 1.1 * most };
  const bars = shares.flatMap((some, place) =>
    some === null ? [] : [{ place, from: 0, to: some }],
  );
  return panel({
    name: "p-volume",
    time,
    axis,
    shapes: html`${ticks(axis).map((value) => level(value, axis, "grid"))}<path class="middle" d="${columns(bars, axis)}"/>`,
    labels: ticks(axis).map((value) => ({ value, text: compact.format(value) })),
    labelShare: 0.15,
  });
}

function shortPanel(shorts: readonly (number | null)[], time: TimeAxis): Html | false {
  if (shorts.every((ratio) => ratio === null)) return false;
  const axis = { low: 0, high: 1 };
  return panel({
    name: "p-line",
    time,
    axis,
    shapes: html`${[0.25, 0.5, 0.75].map((value) => level(value, axis, "grid"))}<path class="l-price" d="${line(shorts, axis)}"/>`,
    labels: [0.25, 0.5, 0.75].map((value) => ({ value, text: `${100 * value} %` })),
    labelShare: 0.15,
  });
}
