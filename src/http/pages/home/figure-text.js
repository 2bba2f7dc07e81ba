/** Texts of figures. The pages wrap them in HTML; the app inside chats runs this file as it is. */

/** Replaces a hyphen before a number by a minus sign, which is as wide as a plus.
 *  @param {string} text */
export const withMinus = (text) => text.replaceAll(/(?<![\w.])-(?=[\d.$])/g, "−");

/** Score points, signed, with one decimal. A value that rounds to zero has no sign.
 *  @param {number} value */
export const pointsText = (value) => signed(value.toFixed(1));

/** A fraction in percent.
 *  @param {number} value
 *  @param {number} decimals */
export const percentText = (value, decimals) => `${(100 * value).toFixed(decimals)}\u00a0%`;

/** A signed fraction in percent, with one decimal.
 *  @param {number} value */
export const signedPercentText = (value) => `${signed((100 * value).toFixed(1))}\u00a0%`;

/** @param {string} text */
const signed = (text) => {
  if (Number(text) === 0) return text.replace("-", "");
  return text.startsWith("-") ? text : `+${text}`;
};

/** Makes a formatter when it is first needed, since each takes a while.
 *  @param {Intl.NumberFormatOptions} options */
const formatter = (options) => {
  /** @type {Intl.NumberFormat | undefined} */
  let made;
  return (/** @type {number} */ value) => {
    made ??= new Intl.NumberFormat("en-US", options);
    return made.format(value);
  };
};

/** An integer with thousands separators. */
export const wholeText = formatter({ maximumFractionDigits: 0 });

/** A number in compact notation. */
export const compactText = formatter({
  notation: "compact",
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

const significantText = formatter({ maximumSignificantDigits: 4 });

/** Numbers of at least this size are shown in millions or billions. */
const LARGE = 1e6;

/** Any number, with four significant digits.
 *  @param {number} value */
export const plainText = (value) =>
  Math.abs(value) >= LARGE ? compactText(value) : significantText(value);

/** Two decimals, or four significant digits of a small number.
 *  @param {number} value */
export const digitsText = (value) =>
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
