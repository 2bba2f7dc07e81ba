import { memo } from "../../../lib/memo.ts";
import { type Html, html } from "../html.ts";

/** Replaces a missing figure. */
const NONE = html`<span class="quiet" title="not known">–</span>`;

/** A formatted figure, with the exact value in `<data>`. */
const figure = (value: number, text: string): Html => html`<data value="${value}">${text}</data>`;

/** Formats a figure that may be missing. */
const nullable =
  (format: (value: number) => string) =>
  (value: number | null): Html =>
    value === null ? NONE : figure(value, withMinus(format(value)));

/** Replaces a hyphen before a number by a minus sign, which is as wide as a plus. */
export const withMinus = (text: string): string => text.replaceAll(/(?<![\w.])-(?=[\d.$])/g, "−");

/** A number with a fixed number of decimals. */
export const fixed = (decimals: number): ((value: number | null) => Html) =>
  nullable((value) => value.toFixed(decimals));

/** Score points, signed, with one decimal. */
export const points = nullable((value) => {
  const text = value.toFixed(1);
  // A value that rounds to zero has no sign.
  if (Number(text) === 0) return text.replace("-", "");
  return value > 0 ? `+${text}` : text;
});

/** A fraction in percent. */
export const percent = (decimals: number): ((value: number | null) => Html) =>
  nullable((value) => `${(100 * value).toFixed(decimals)}\u00a0%`);

const wholes = memo(() => new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 }));

/** An integer with thousands separators. */
export const whole = nullable((value) => wholes().format(value));

const compacts = memo(
  () =>
    new Intl.NumberFormat("en-US", {
      notation: "compact",
      minimumFractionDigits: 1,
      maximumFractionDigits: 1,
    }),
);

/** US dollars in compact notation. */
export const shortUsd = nullable((value) => `$${compacts().format(value)}`);

const significant = memo(() => new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 }));

/** Numbers of at least this size are shown in millions or billions. */
const LARGE = 1e6;

/** Any number, with four significant digits. */
export const plain = nullable((value) =>
  (Math.abs(value) >= LARGE ? compacts() : significant()).format(value),
);

/** A signed fraction in percent, with one decimal. */
export const signedPercent = nullable((value) => {
  const text = (100 * value).toFixed(1);
  return `${value > 0 && Number(text) !== 0 ? "+" : ""}${text}\u00a0%`;
});

/** Six significant digits, or four of a small number. */
const digitsOf = (value: number): string =>
  value >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(4)));

/** A price without its currency. @param others Prices beside it: whole ones have no decimals. */
export const priceText = (value: number, others: readonly number[] = []): string =>
  others.length > 0 && others.every(Number.isInteger) ? wholes().format(value) : digitsOf(value);

/** A price of a table, without its currency. */
export const figureText = nullable(digitsOf);

/** A price with its currency code; small prices keep four significant digits. */
export function price(value: number, currency: string): Html {
  const digits = new Intl.NumberFormat("en-US", {
    style: "currency",
    currency,
    ...(Math.abs(value) < 1 && { maximumSignificantDigits: 4 }),
  });
  return figure(value, digits.format(value));
}

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
