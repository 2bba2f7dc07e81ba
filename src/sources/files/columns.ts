/** How the cells of one column are read. */
export interface Column<T> {
  /** Description of a valid cell, for the error message about an invalid one. */
  readonly expected: string;
  /** The value of the cell in [from, to) of a text; `undefined` when the cell is malformed. Numbers
   *  are parsed in place: a folder has ten million of them, and creating a string for each would
   *  cost more than everything else. */
  readonly parse: (text: string, from: number, to: number) => T | undefined;
}

/** A column whose cells are read as strings. */
const cellColumn = <T>(expected: string, parse: (cell: string) => T | undefined): Column<T> => ({
  expected,
  parse: (text, from, to) => parse(text.slice(from, to)),
});

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

/** Largest magnitude of a figure: products and sums of such numbers stay finite. */
const MAX_FIGURE = 1e18;

/** Digits of a number that is read as an integer and a power of ten: both are exact. */
const EXACT_DIGITS = 15;
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS }, (_, power) => 10 ** power);

const [ZERO, NINE, POINT, MINUS] = [48, 57, 46, 45];

/**
 * Parses a decimal number of at most `MAX_FIGURE`; `undefined` for any other text. The quotient of two
 * exact numbers is rounded once, so it is the number nearest to the text (Clinger, 1990), as `Number` has it.
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

/** Unix milliseconds of an ISO text; JavaScript alone would turn 30 February into 2 March. */
function parseReal(text: string): number | undefined {
  const at = Date.parse(text);
  return new Date(at).getUTCDate() === Number(text.slice(8, 10)) ? at : undefined;
}

/** Any finite decimal number. */
export const figure: Column<number> = {
  expected: "a number such as -12.5",
  parse: parseNumber,
};

/** A number greater than 0. */
export const positive: Column<number> = {
  expected: "a number greater than 0",
  parse(text, from, to) {
    const value = parseNumber(text, from, to);
    return value !== undefined && value > 0 ? value : undefined;
  },
};

/** A number of at least 0. */
export const nonNegative: Column<number> = {
  expected: "a number of at least 0",
  parse(text, from, to) {
    const value = parseNumber(text, from, to);
    return value !== undefined && value >= 0 ? value : undefined;
  },
};

/** An ISO date that exists; `undefined` for any other text. */
export const parseDate = (cell: string): string | undefined =>
  DATE.test(cell) && parseReal(cell) !== undefined ? cell : undefined;

/** What a date should look like. */
export const EXPECTED_DATE = "a date such as 2014-06-09";

/** A UTC instant, read as Unix milliseconds; finer digits are cut. */
export const instant: Column<number> = cellColumn(
  "a UTC instant such as 2013-10-07T12:00:16.051Z",
  (cell) => (INSTANT.test(cell) ? parseReal(cell) : undefined),
);

/** Any text, empty too. */
export const text: Column<string> = cellColumn("text", (cell) => cell);

/** Text of at least one character. */
export const filledText: Column<string> = cellColumn("text that is not empty", (cell) =>
  cell === "" ? undefined : cell,
);

/**
 * Text that matches a pattern. @param expected Description of the pattern, for the error message.
 */
export const matching = (pattern: RegExp, expected: string): Column<string> =>
  cellColumn(expected, (cell) => (pattern.test(cell) ? cell : undefined));

/** One of a closed list of words. */
export const oneOf = <W extends string>(words: readonly W[]): Column<W> =>
  cellColumn(`one of ${words.join(", ")}`, (cell) => words.find((word) => word === cell));

/** A column whose cells may be empty, read as `null`. */
export function optional<T>({ expected, parse }: Column<T>): Column<T | null> {
  return {
    expected: `${expected}, or nothing`,
    parse: (text, from, to) => (from === to ? null : parse(text, from, to)),
  };
}
