import { facts } from "../elements.ts";
import { type Html, html } from "../html.ts";
import type { Darkpool } from "./instrument-view.ts";
import { dateTime, fixed, percent, price, shortUsd, toTheSecond, whole } from "./number-format.ts";
import { OFF_EXCHANGE_TABLE, offExchangeFigure } from "./off-exchange-figure.ts";

/** Off-exchange trades are in US dollars. */
const CURRENCY = "USD";

const usd = (value: number | null): Html => (value === null ? whole(null) : price(value, CURRENCY));

/** The dark pool section of an instrument. */
export function darkpoolSection(darkpool: Darkpool, dayMs: number): Html {
  const { feeds } = darkpool;
  const isObserved = feeds.prints !== "no_feed" || feeds.shortVolume !== "no_feed";
  return html`<section aria-labelledby="darkpool">
<h2 id="darkpool">Dark pool</h2>
${isObserved ? observed(darkpool, dayMs) : html`<div class="empty"><p><strong>No feed.</strong> Nothing observes off-exchange trades of this instrument.</p></div>`}
</section>`;
}

const feedLabels: Readonly<Record<Darkpool["feeds"]["prints"], string>> = {
  ok: "observed",
  stale: "nothing lately",
  no_activity: "observed, none found",
  no_feed: "no feed",
};

const observed = (
  darkpool: Darkpool,
  dayMs: number,
): Html => html`<p class="quiet">${darkpool.note}</p>
${offExchangeFigure(darkpool.days, dayMs)}
${summaryFacts(darkpool)}
${daysTable(darkpool.days)}
${printsTable(darkpool.prints)}`;

function summaryFacts({ summary, feeds }: Darkpool): Html {
  const { sessions, prints, shares, notionalUsd, vwap, blocks, blockNotionalUsd } = summary;
  return html`<div class="card columns">${facts([
    ["Sessions", whole(sessions)],
    ["Prints", html`${whole(prints)} <span class="quiet">${feedLabels[feeds.prints]}</span>`],
    ["Shares", whole(shares)],
    ["Value", shortUsd(notionalUsd)],
    ["Average price", usd(vwap)],
    [
      "Blocks",
      blockNotionalUsd === null
        ? whole(blocks)
        : html`${whole(blocks)} <span class="quiet">worth ${shortUsd(blockNotionalUsd)}</span>`,
    ],
    ["Share of volume", percent(2)(summary.shareOfVolume)],
    [
      "Marked short",
      html`${percent(1)(summary.shortVolumeRatio)} <span class="quiet">${feedLabels[feeds.shortVolume]}</span>`,
    ],
  ])}</div>`;
}

const columns = (names: readonly string[], roomy: readonly string[]): Html =>
  html`<thead><tr>${names.map((name) => html`<th scope="col"${roomy.includes(name) && html` class="roomy"`}>${name}</th>`)}</tr></thead>`;

function daysTable(days: Darkpool["days"]): Html | false {
  const names = ["Session", "Prints", "Shares", "Average price", "Blocks", "Of volume", "Short"];
  return (
    days.length > 0 &&
    html`<details class="more"><summary>The same in figures</summary>
<div class="scroller" tabindex="0"><table class="figures" id="${OFF_EXCHANGE_TABLE}">
<caption>By session, newest first</caption>
${columns(names, ["Average price", "Blocks", "Of volume"])}
<tbody>${days.map(
      (day) =>
        html`<tr><th scope="row">${dateTime(day.session)}</th><td>${whole(day.prints)}</td><td>${whole(day.shares)}</td><td class="roomy">${usd(day.vwap)}</td><td class="roomy">${whole(day.blocks)}</td><td class="roomy">${percent(2)(day.shareOfVolume)}</td><td>${percent(1)(day.shortVolumeRatio)}</td></tr>`,
    )}</tbody>
</table></div>
</details>`
  );
}

function printsTable(prints: Darkpool["prints"]): Html | false {
  const names = ["Traded", "Price", "Shares", "Value", "Side", "Kind"];
  return (
    prints.length > 0 &&
    html`<details class="more"><summary>${prints.length} newest prints</summary>
<div class="scroller" tabindex="0"><table class="figures">
<caption>Newest prints. The side is a guess from quotes: 1 buyer, −1 seller</caption>
${columns(names, ["Value", "Kind"])}
<tbody>${prints.map(
      (print) =>
        html`<tr><th scope="row">${toTheSecond(print.tradedAt)}</th><td>${usd(print.price)}</td><td>${whole(print.sizeShares)}</td><td class="roomy">${shortUsd(print.price * print.sizeShares)}</td><td>${fixed(2)(print.side)}</td><td class="roomy">${kindOf(print)}</td></tr>`,
    )}</tbody>
</table></div>
</details>`
  );
}

const kindOf = ({ block, canceled }: Darkpool["prints"][number]): string =>
  canceled ? "canceled" : block ? "block" : "print";
