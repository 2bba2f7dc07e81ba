import type { ConfidenceInterval } from "../../../statistics/bootstrap.ts";

/** Placeholder for a missing figure. */
export const NO_VALUE = "–";

/** A no-break space and a percent sign. */
const PERCENT = "\u00a0%";

/** Formats a coefficient with its sign and four decimals, for example `+0.0123`. */
export const coefficientText = (value: number | null | undefined): string => signed(value, 4);

/** Formats a t-statistic with its sign, for example `-1.8`. */
export const tValueText = (value: number | null | undefined): string => signed(value, 1);

/** Formats a Sharpe ratio with its sign and two decimals, for example `+0.41`. */
export const sharpeText = (value: number | null | undefined): string => signed(value, 2);

/** Formats an interval of coefficients, for example `-0.0435 to -0.0002`. */
export const coefficientRangeText = ({ low, high }: ConfidenceInterval): string =>
  `${coefficientText(low)} to ${coefficientText(high)}`;

/** Formats a fraction in percent, for example `49.8 %`. */
export const reportPercentText = (
  share: number | null | undefined,
  decimals: number = 1,
): string =>
  share === null || share === undefined
    ? NO_VALUE
    : `${minus((100 * share).toFixed(decimals))}${PERCENT}`;

/** Formats a return in percent with its sign, for example `+0.31 %`. */
export const reportSignedPercentText = (
  share: number | null | undefined,
  decimals: number = 2,
): string =>
  share === null || share === undefined ? NO_VALUE : `${signed(100 * share, decimals)}${PERCENT}`;

/** Formats a whole number with thousands separators, for example `12,345`. */
export const reportWholeNumberText = (value: number | null | undefined): string =>
  value === null || value === undefined ? NO_VALUE : Math.round(value).toLocaleString("en-US");

/** Formats a number with its sign, for example `+0.02`. */
export const signedNumberText = (value: number, decimals: number): string =>
  signed(value, decimals);

/** Formats a number, for example `−1,234.5`. */
export const numberText = (value: number, decimals: number): string =>
  minus(
    value.toLocaleString("en-US", {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
      signDisplay: "negative",
    }),
  );

/** Formats a number without trailing zeros. */
export const plainNumberText = (value: number): string => minus(String(Number(value.toFixed(4))));

function signed(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined) return NO_VALUE;
  const text = value.toFixed(decimals);
  // A value that rounds to zero has no sign.
  if (Number(text) === 0) return text.replace("-", "");
  return value > 0 ? `+${text}` : minus(text);
}

/** Replaces the hyphen with a minus sign. */
const minus = (text: string): string => text.replace("-", "−");
