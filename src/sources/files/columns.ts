/** Parser for the cells of one column. */
export interface CsvColumn<T> {
  /** Description of a valid cell, for error messages. */
  readonly expected: string;
  /**
   * Parses the cell in [from, to) of a text; `undefined` if the cell is malformed. Numbers are
   * parsed in place: a folder has ten million of them, and creating a string for each would cost
   * more than everything else.
   */
  readonly parse: (text: string, from: number, to: number) => T | undefined;
}

/** A column whose parser receives the cell as a string. */
const cellColumn = <T>(expected: string, parse: (cell: string) => T | undefined): CsvColumn<T> => ({
  expected,
  parse: (text, from, to) => parse(text.slice(from, to)),
});

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

/** Maximum magnitude of a figure, so that products and sums of figures stay finite. */
const MAX_FIGURE = 1e18;

/**
 * Maximum number of digits for which a double is exact, both for the digits read as an integer and
 * for the power of ten.
 */
const EXACT_DIGITS = 15;
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS }, (_, power) => 10 ** power);

const [ZERO, NINE, POINT, MINUS] = [48, 57, 46, 45];

/**
 * Parses a decimal number of at most `MAX_FIGURE`; `undefined` for any other text. The quotient of
 * two exact numbers is rounded once, so the result is the double nearest to the text (Clinger,
 * 1990), as with `Number`.
 */
function parseNumber(text: string, from: number, to: number): number | undefined {
  const isNegative = text.charCodeAt(from) === MINUS;
  let digits = 0;
  let decimals: number | undefined;
  let integer = 0;
  for (let at = isNegative ? from + 1 : from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      integer = 10 * integer + (code - ZERO);
      digits++;
    } else if (code === POINT && decimals === undefined && digits > 0) {
      decimals = digits;
    } else return parseAnyNumber(text.slice(from, to));
  }
  const places = digits - (decimals ?? digits);
  if (digits === 0 || digits > EXACT_DIGITS || decimals === digits) {
    return parseAnyNumber(text.slice(from, to));
  }
  const value = integer / (POWERS_OF_TEN[places] as number);
  return isNegative ? -value : value;
}

function parseAnyNumber(cell: string): number | undefined {
  if (!NUMBER.test(cell)) return undefined;
  const value = Number(cell);
  return Math.abs(value) <= MAX_FIGURE ? value : undefined;
}

/**
 * Unix milliseconds of an ISO text; `undefined` for a date that does not exist, such as 30
 * February, which `Date.parse` would turn into 2 March.
 */
function parseReal(text: string): number | undefined {
  const at = Date.parse(text);
  return new Date(at).getUTCDate() === Number(text.slice(8, 10)) ? at : undefined;
}

/** Any finite decimal number. */
export const figureColumn: CsvColumn<number> = {
  expected: "a number such as -12.5",
  parse: parseNumber,
};

/** A number greater than 0. */
export const positiveColumn: CsvColumn<number> = {
  expected: "a number greater than 0",
  parse(text, from, to) {
    const value = parseNumber(text, from, to);
    return value !== undefined && value > 0 ? value : undefined;
  },
};

/** A number of at least 0. */
export const nonNegativeColumn: CsvColumn<number> = {
  expected: "a number of at least 0",
  parse(text, from, to) {
    const value = parseNumber(text, from, to);
    return value !== undefined && value >= 0 ? value : undefined;
  },
};

/** Returns the text if it is an ISO date that exists, otherwise `undefined`. */
export const parseDate = (cell: string): string | undefined =>
  DATE.test(cell) && parseReal(cell) !== undefined ? cell : undefined;

/** Description of a valid date, for error messages. */
export const EXPECTED_DATE_TEXT = "a date such as 2014-06-09";

/** A UTC instant, read as Unix milliseconds; digits beyond the millisecond are dropped. */
export const instantColumn: CsvColumn<number> = cellColumn(
  "a UTC instant such as 2013-10-07T12:00:16.051Z",
  (cell) => (INSTANT.test(cell) ? parseReal(cell) : undefined),
);

/** Any text, including an empty one. */
export const textColumn: CsvColumn<string> = cellColumn("text", (cell) => cell);

/** Text of at least one character. */
export const filledTextColumn: CsvColumn<string> = cellColumn("text that is not empty", (cell) =>
  cell === "" ? undefined : cell,
);

/**
 * Text that matches a pattern.
 *
 * @param expected Description of the pattern, for error messages.
 */
export const patternColumn = (pattern: RegExp, expected: string): CsvColumn<string> =>
  cellColumn(expected, (cell) => (pattern.test(cell) ? cell : undefined));

/** One of a closed list of words. */
export const enumColumn = <W extends string>(words: readonly W[]): CsvColumn<W> =>
  cellColumn(`one of ${words.join(", ")}`, (cell) => words.find((word) => word === cell));

/** A column whose cells may be empty, read as `null`. */
export function optionalColumn<T>({ expected, parse }: CsvColumn<T>): CsvColumn<T | null> {
  return {
    expected: `${expected}, or nothing`,
    parse: (text, from, to) => (from === to ? null : parse(text, from, to)),
  };
}
