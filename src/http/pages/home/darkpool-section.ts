import { type Html, html } from "../../../markup/html.ts";
import { descriptionList } from "../elements.ts";
import type { DarkpoolView } from "./instrument-view.ts";
import {
  compactUsdHtml,
  dateTimeHtml,
  dateTimeSecondsHtml,
  fixedDecimalsHtml,
  percentHtml,
  priceHtml,
  wholeNumberHtml,
} from "./number-format.ts";
import { OFF_EXCHANGE_TABLE_ID, offExchangeFigure } from "./off-exchange-figure.ts";

/** Currency of off-exchange trades. */
const CURRENCY = "USD";

const usd = (value: number | null): Html =>
  value === null ? wholeNumberHtml(null) : priceHtml(value, CURRENCY);

/** The dark pool section of an instrument. */
export function darkpoolSection(darkpool: DarkpoolView, dayMs: number): Html {
  const { feeds } = darkpool;
  const isObserved = feeds.prints !== "no_feed" || feeds.shortVolume !== "no_feed";
  return html`<section aria-labelledby="darkpool">
<h2 id="darkpool">Dark pool</h2>
${isObserved ? observed(darkpool, dayMs) : html`<div class="empty"><p><strong>No feed.</strong> Nothing observes off-exchange trades of this instrument.</p></div>`}
</section>`;
}

const feedLabels: Readonly<Record<DarkpoolView["feeds"]["prints"], string>> = {
  ok: "observed",
  stale: "nothing lately",
  no_activity: "observed, none found",
  no_feed: "no feed",
};

const observed = (
  darkpool: DarkpoolView,
  dayMs: number,
): Html => html`<p class="quiet">${darkpool.note}</p>
${offExchangeFigure(darkpool.days, dayMs)}
${summaryFacts(darkpool)}
${daysTable(darkpool.days)}
${printsTable(darkpool.prints)}`;

function summaryFacts({ summary, feeds }: DarkpoolView): Html {
  const { sessions, prints, shares, notionalUsd, vwap, blocks, blockNotionalUsd } = summary;
  return html`<div class="card columns">${descriptionList([
    ["Sessions", wholeNumberHtml(sessions)],
    [
      "Prints",
      html`${wholeNumberHtml(prints)} <span class="quiet">${feedLabels[feeds.prints]}</span>`,
    ],
    ["Shares", wholeNumberHtml(shares)],
    ["Value", compactUsdHtml(notionalUsd)],
    ["Average price", usd(vwap)],
    [
      "Blocks",
      blockNotionalUsd === null
        ? wholeNumberHtml(blocks)
        : html`${wholeNumberHtml(blocks)} <span class="quiet">worth ${compactUsdHtml(blockNotionalUsd)}</span>`,
    ],
    ["Share of volume", percentHtml(2)(summary.shareOfVolume)],
    [
      "Marked short",
      html`${percentHtml(1)(summary.shortVolumeRatio)} <span class="quiet">${feedLabels[feeds.shortVolume]}</span>`,
    ],
  ])}</div>`;
}

const columns = (names: readonly string[], roomy: readonly string[]): Html =>
  html`<thead><tr>${names.map((name) => html`<th scope="col"${roomy.includes(name) && html` class="roomy"`}>${name}</th>`)}</tr></thead>`;

function daysTable(days: DarkpoolView["days"]): Html | false {
  const names = ["Session", "Prints", "Shares", "Average price", "Blocks", "Of volume", "Short"];
  return (
    days.length > 0 &&
    html`<details class="more"><summary>The same in figures</summary>
<div class="scroller" tabindex="0"><table class="figures" id="${OFF_EXCHANGE_TABLE_ID}">
<caption>By session, newest first</caption>
${columns(names, ["Average price", "Blocks", "Of volume"])}
<tbody>${days.map(
      (day) =>
        html`<tr><th scope="row">${dateTimeHtml(day.session)}</th><td>${wholeNumberHtml(day.prints)}</td><td>${wholeNumberHtml(day.shares)}</td><td class="roomy">${usd(day.vwap)}</td><td class="roomy">${wholeNumberHtml(day.blocks)}</td><td class="roomy">${percentHtml(2)(day.shareOfVolume)}</td><td>${percentHtml(1)(day.shortVolumeRatio)}</td></tr>`,
    )}</tbody>
</table></div>
</details>`
  );
}

function printsTable(prints: DarkpoolView["prints"]): Html | false {
  const names = ["Traded", "Price", "Shares", "Value", "Side", "Kind"];
  return (
    prints.length > 0 &&
    html`<details class="more"><summary>${prints.length} newest prints</summary>
<div class="scroller" tabindex="0"><table class="figures">
<caption>Newest prints. The side is a guess from quotes: 1 buyer, −1 seller</caption>
${columns(names, ["Value", "Kind"])}
<tbody>${prints.map(
      (print) =>
        html`<tr><th scope="row">${dateTimeSecondsHtml(print.tradedAt)}</th><td>${usd(print.price)}</td><td>${wholeNumberHtml(print.sizeShares)}</td><td class="roomy">${compactUsdHtml(print.price * print.sizeShares)}</td><td>${fixedDecimalsHtml(2)(print.side)}</td><td class="roomy">${kindOf(print)}</td></tr>`,
    )}</tbody>
</table></div>
</details>`
  );
}

const kindOf = ({ block, canceled }: DarkpoolView["prints"][number]): string =>
  canceled ? "canceled" : block ? "block" : "print";
