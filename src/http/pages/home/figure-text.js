/**
 * Formats figures as text. The pages wrap these texts in HTML; the MCP app includes this file
 * unchanged.
 */

/**
 * Replaces a hyphen before a number with a minus sign, which is as wide as a plus sign.
 * @param {string} text
 */
export const withMinus = (text) => text.replaceAll(/(?<![\w.])-(?=[\d.$])/g, "−");

/**
 * Score points with a sign and one decimal. A value that rounds to zero has no sign.
 * @param {number} value
 */
export const pointsText = (value) => signed(value.toFixed(1));

/**
 * A fraction (0.12) as a percentage (12 %).
 * @param {number} value
 * @param {number} decimals
 */
export const percentText = (value, decimals) => `${(100 * value).toFixed(decimals)}\u00a0%`;

/**
 * A fraction as a percentage with a sign and one decimal.
 * @param {number} value
 */
export const signedPercentText = (value) => `${signed((100 * value).toFixed(1))}\u00a0%`;

/**
 * Adds a plus sign to a positive number, and removes the sign from zero.
 * @param {string} text
 */
const signed = (text) => {
  if (Number(text) === 0) return text.replace("-", "");
  return text.startsWith("-") ? text : `+${text}`;
};

/**
 * Creates a function that formats numbers. The `Intl.NumberFormat` is created at its first use,
 * because creating it is slow.
 * @param {Intl.NumberFormatOptions} options
 */
const formatter = (options) => {
  /** @type {Intl.NumberFormat | undefined} */
  let made;
  return (/** @type {number} */ value) => {
    made ??= new Intl.NumberFormat("en-US", options);
    return made.format(value);
  };
};

/** An integer with thousands separators. */
export const wholeNumberText = formatter({ maximumFractionDigits: 0 });

/** A number in compact notation, such as 1.2M. */
export const compactNumberText = formatter({
  notation: "compact",
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

const significantText = formatter({ maximumSignificantDigits: 4 });

/** Numbers of at least this size are shown in compact notation (millions or billions). */
const LARGE = 1e6;

/**
 * A number with four significant digits, or in compact notation if it is large.
 * @param {number} value
 */
const fourDigitsText = (value) =>
  Math.abs(value) >= LARGE ? compactNumberText(value) : significantText(value);

/**
 * An input figure of `get_factors` as people read it: fractions and returns in percent, counts and
 * prices without a unit, and everything else with its unit.
 * @param {number} value
 * @param {string} [unit]
 */
export const inputText = (value, unit = "") => {
  if (unit === "log return") return signedPercentText(Math.expm1(value));
  if (/^fraction/.test(unit)) return `${fourDigitsText(100 * value)}\u00a0%${unit.slice(8)}`;
  return `${fourDigitsText(value)} ${unit.replace(/^(count|price)$/, "")}`.trim();
};

/**
 * A number with two decimals if it is at least 1, otherwise with four significant digits.
 * @param {number} value
 */
export const adaptiveDigitsText = (value) =>
  value >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(4)));

/** A price with its currency code; small prices keep four significant digits.
 *  @param {number} value
 *  @param {string} currency ISO 4217 */
export const moneyText = (value, currency) =>
  new Intl.NumberFormat("en-US", {
    style: "currency",
    currency,
    ...(Math.abs(value) < 1 && { maximumSignificantDigits: 4 }),
  }).format(value);
