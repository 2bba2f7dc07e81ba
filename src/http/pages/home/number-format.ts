import { memo } from "../../../lib/memo.ts";
import { type Html, html } from "../html.ts";
import {
  compactText,
  digitsText,
  moneyText,
  percentText,
  plainText,
  pointsText,
  signedPercentText,
  wholeText,
  withMinus,
} from "./figure-text.js";

/** Replaces a missing figure. */
const NONE = html`<span class="quiet" title="not known">–</span>`;

/** A formatted figure, with the exact value in `<data>`. */
const figure = (value: number, text: string): Html => html`<data value="${value}">${text}</data>`;

/** Formats a figure that may be missing. */
const nullable =
  (format: (value: number) => string) =>
  (value: number | null): Html =>
    value === null ? NONE : figure(value, withMinus(format(value)));

/** A number with a fixed number of decimals. */
export const fixed = (decimals: number): ((value: number | null) => Html) =>
  nullable((value) => value.toFixed(decimals));

/** Score points, signed, with one decimal. */
export const points = nullable(pointsText);

/** A fraction in percent. */
export const percent = (decimals: number): ((value: number | null) => Html) =>
  nullable((value) => percentText(value, decimals));

/** An integer with thousands separators. */
export const whole = nullable(wholeText);

/** US dollars in compact notation. */
export const shortUsd = nullable((value) => `$${compactText(value)}`);

/** Any number, with four significant digits. */
export const plain = nullable(plainText);

/** A signed fraction in percent, with one decimal. */
export const signedPercent = nullable(signedPercentText);

/** A price without its currency. @param others Prices shown beside it; if all of them are integers,
 *  no decimals are shown. */
export const priceText = (value: number, others: readonly number[] = []): string =>
  others.length > 0 && others.every(Number.isInteger) ? wholeText(value) : digitsText(value);

/** A price of a table, without its currency. */
export const figureText = nullable(digitsText);

/** A price with its currency code; small prices keep four significant digits. */
export const price = (value: number, currency: string): Html =>
  figure(value, moneyText(value, currency));

const date = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" } as const;

const days = memo(() => new Intl.DateTimeFormat("en-GB", date));

const toMinutes = { hour: "2-digit", minute: "2-digit" } as const;

const minutes = memo(() => new Intl.DateTimeFormat("en-GB", { ...date, ...toMinutes }));

const seconds = memo(
  () => new Intl.DateTimeFormat("en-GB", { ...date, ...toMinutes, second: "2-digit" }),
);

/** An instant to the minute, or the date of a session. */
export function dateTime(iso: string | null): Html {
  if (iso === null) return NONE;
  const isDate = iso.length === "2026-11-21".length;
  const text = (isDate ? days() : minutes()).format(Date.parse(iso));
  return html`<time datetime="${iso}">${text}</time>`;
}

/** An instant to the second. */
export const toTheSecond = (iso: string): Html =>
  html`<time datetime="${iso}">${seconds().format(Date.parse(iso))}</time>`;
