import { memo } from "../../../lib/memo.ts";
import { type Html, html } from "../../../markup/html.ts";
import {
  adaptiveDigitsText,
  compactNumberText,
  inputText,
  moneyText,
  percentText,
  pointsText,
  signedPercentText,
  wholeNumberText,
  withMinus,
} from "./figure-text.js";

/** Text in place of a missing figure. */
const NONE = html`<span class="quiet" title="not known">–</span>`;

/** A formatted figure in a `data` element with the exact value. */
const figure = (value: number, text: string): Html => html`<data value="${value}">${text}</data>`;

/** Extends a formatter to accept `null`, which means that the figure is missing. */
const nullable =
  (format: (value: number) => string) =>
  (value: number | null): Html =>
    value === null ? NONE : figure(value, withMinus(format(value)));

/** A number with a fixed number of decimals. */
export const fixedDecimalsHtml = (decimals: number): ((value: number | null) => Html) =>
  nullable((value) => value.toFixed(decimals));

/** Score points with a sign and one decimal. */
export const pointsHtml = nullable(pointsText);

/** A fraction as a percentage. */
export const percentHtml = (decimals: number): ((value: number | null) => Html) =>
  nullable((value) => percentText(value, decimals));

/** An integer with thousands separators. */
export const wholeNumberHtml = nullable(wholeNumberText);

/** US dollars in compact notation. */
export const compactUsdHtml = nullable((value) => `$${compactNumberText(value)}`);

/** An input figure of a factor, given its unit, as people read it. */
export const inputHtml = (unit: string | undefined): ((value: number | null) => Html) =>
  nullable((value) => inputText(value, unit));

/** A fraction as a percentage with a sign and one decimal. */
export const signedPercentHtml = nullable(signedPercentText);

/**
 * A price without its currency.
 *
 * @param others Prices shown next to it; if all of them are integers, the price has no decimals.
 */
export const priceText = (value: number, others: readonly number[] = []): string =>
  others.length > 0 && others.every(Number.isInteger)
    ? wholeNumberText(value)
    : adaptiveDigitsText(value);

/** A price in a table, without its currency. */
export const barePriceHtml = nullable(adaptiveDigitsText);

/** A price with its currency code; small prices keep four significant digits. */
export const priceHtml = (value: number, currency: string): Html =>
  figure(value, moneyText(value, currency));

const date = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" } as const;

const days = memo(() => new Intl.DateTimeFormat("en-GB", date));

const toMinutes = { hour: "2-digit", minute: "2-digit" } as const;

const minutes = memo(() => new Intl.DateTimeFormat("en-GB", { ...date, ...toMinutes }));

const seconds = memo(
  () => new Intl.DateTimeFormat("en-GB", { ...date, ...toMinutes, second: "2-digit" }),
);

/** An instant, shown to the minute, or the date of a session. */
export function dateTimeHtml(iso: string | null): Html {
  if (iso === null) return NONE;
  const isDate = iso.length === "2026-11-21".length;
  const text = (isDate ? days() : minutes()).format(Date.parse(iso));
  return html`<time datetime="${iso}">${text}</time>`;
}

/** An instant, shown to the second. */
export const dateTimeSecondsHtml = (iso: string): Html =>
  html`<time datetime="${iso}">${seconds().format(Date.parse(iso))}</time>`;
