import type { ConfidenceInterval } from "../../../grading/bootstrap.ts";

/** Placeholder of a missing figure. */
export const NO_VALUE = "–";

/** A no-break space and the percent sign. */
const PERCENT = "\u00a0%";

/** A coefficient with its sign, four decimals, for example `+0.0123`. */
export const coefficient = (value: number | null | undefined): string => signed(value, 4);

/** A t-statistic with its sign, for example `-1.8`. */
export const tValue = (value: number | null | undefined): string => signed(value, 1);

/** An interval of coefficients, for example `-0.0435 to -0.0002`. */
export const coefficientRange = ({ low, high }: ConfidenceInterval): string =>
  `${coefficient(low)} to ${coefficient(high)}`;

/** A share in percent, for example `49.8 %`. */
export const percent = (share: number | null | undefined, decimals: number = 1): string =>
  share === null || share === undefined
    ? NO_VALUE
    : `${minus((100 * share).toFixed(decimals))}${PERCENT}`;

/** A return in percent with its sign, for example `+0.31 %`. */
export const signedPercent = (share: number | null | undefined): string =>
  share === null || share === undefined ? NO_VALUE : `${signed(100 * share, 2)}${PERCENT}`;

/** A whole number with thousands, for example `12,345`. */
export const wholeNumber = (value: number | null | undefined): string =>
  value === null || value === undefined ? NO_VALUE : Math.round(value).toLocaleString("en-US");

/** A coefficient without trailing zeros, for axes, for example `+0.02`. */
export const shortCoefficient = (value: number): string => coefficient(value).replace(/\.?0+$/, "");

/** A number without trailing zeros, for axes. */
export const plainNumber = (value: number): string => minus(String(Number(value.toFixed(4))));

function signed(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined) return NO_VALUE;
  const text = value.toFixed(decimals);
  // Values that round to zero have no sign.
  if (Number(text) === 0) return text.replace("-", "");
  return value > 0 ? `+${text}` : minus(text);
}

/** Replaces the hyphen by a minus sign. */
const minus = (text: string): string => text.replace("-", "−");
