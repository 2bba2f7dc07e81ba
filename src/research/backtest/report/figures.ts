import type { Interval } from "../bootstrap.ts";

/** What stands where a figure is missing. */
export const NONE = "–";

/** A space at which no line breaks, and the sign. */
const PERCENT = "\u00a0%";

/** A coefficient with its sign, four decimals, for example `+0.0123`. */
export const coefficient = (value: number | null | undefined): string => signed(value, 4);

/** A t-statistic with its sign, for example `-1.8`. */
export const tValue = (value: number | null | undefined): string => signed(value, 1);

/** An interval of coefficients, for example `-0.0435 to -0.0002`. */
export const range = ({ low, high }: Interval): string =>
  `${coefficient(low)} to ${coefficient(high)}`;

/** A share in percent, for example `49.8 %`. */
export const percent = (share: number | null | undefined, decimals: number = 1): string =>
  share === null || share === undefined
    ? NONE
    : `${minus((100 * share).toFixed(decimals))}${PERCENT}`;

/** A return in percent with its sign, for example `+0.31 %`. */
export const change = (share: number | null | undefined): string =>
  share === null || share === undefined ? NONE : `${signed(100 * share, 2)}${PERCENT}`;

/** A whole number with thousands, for example `12,345`. */
export const whole = (value: number | null | undefined): string =>
  value === null || value === undefined ? NONE : Math.round(value).toLocaleString("en-US");

/** A coefficient as short as it can be, for axes, for example `+0.02`. */
export const shortCoefficient = (value: number): string => coefficient(value).replace(/\.?0+$/, "");

/** A number as short as it can be, for axes. */
export const plain = (value: number): string => minus(String(Number(value.toFixed(4))));

function signed(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined) return NONE;
  const text = value.toFixed(decimals);
  // What rounds to nothing has no sign.
  if (Number(text) === 0) return text.replace("-", "");
  return value > 0 ? `+${text}` : minus(text);
}

/** A minus as wide as a plus, and one at which no line breaks. */
const minus = (text: string): string => text.replace("-", "−");
