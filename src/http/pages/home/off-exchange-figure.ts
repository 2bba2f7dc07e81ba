import { type Html, html } from "../../../markup/html.ts";
import {
  barsPath,
  columnPanel,
  horizontalLine,
  linePath,
  plot,
  plotPanel,
} from "../../../markup/plot.ts";
import { axisTicks, type ColumnAxis, timeAxis } from "../../../markup/plot-axis.ts";
import type { DarkpoolView } from "./instrument-view.ts";

/** Id of the table that lists the values drawn in the chart. */
export const OFF_EXCHANGE_TABLE_ID = "off-exchange-figures";

/**
 * Chart of the number of shares traded off-exchange in each session, and of the percentage of those
 * shares that were marked short.
 */
export function offExchangeFigure(days: DarkpoolView["days"], dayMs: number): Html | false {
  const oldestFirst = days.toReversed();
  if (oldestFirst.length < 2) return false;
  const columns = timeAxis(
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
    columns,
    readout: { table: OFF_EXCHANGE_TABLE_ID, count: days.length },
  },
  html`${volumePanel(shares, columns)}${shortPanel(shorts, columns)}${columnPanel(columns)}`,
)}
</figure>`;
}

const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

function volumePanel(shares: readonly (number | null)[], columns: ColumnAxis): Html | false {
  const most = Math.max(...shares.map((some) => some ?? 0));
  if (most === 0) return false;
  const axis = { low: 0, high: 1.1 * most };
  const bars = shares.flatMap((some, place) =>
    some === null ? [] : [{ place, from: 0, to: some }],
  );
  return plotPanel({
    name: "p-volume",
    columns,
    axis,
    shapes: html`${axisTicks(axis).map((value) => horizontalLine(value, axis, "grid"))}<path class="middle" d="${barsPath(bars, axis, columns)}"/>`,
    labels: axisTicks(axis).map((value) => ({ value, text: compact.format(value) })),
    labelShare: 0.15,
  });
}

function shortPanel(shorts: readonly (number | null)[], columns: ColumnAxis): Html | false {
  if (shorts.every((ratio) => ratio === null)) return false;
  const axis = { low: 0, high: 1 };
  return plotPanel({
    name: "p-line",
    columns,
    axis,
    shapes: html`${[0.25, 0.5, 0.75].map((value) => horizontalLine(value, axis, "grid"))}<path class="l-price" d="${linePath(shorts, axis)}"/>`,
    labels: [0.25, 0.5, 0.75].map((value) => ({ value, text: `${100 * value} %` })),
    labelShare: 0.15,
  });
}
