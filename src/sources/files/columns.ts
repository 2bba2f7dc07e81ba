/** How the cells of one column are read. */
export interface Column<T> {
  /** What a cell should look like, for the message about one that does not. */
  readonly expected: string;
  /** The value of a cell, `undefined` when the cell is malformed. */
  readonly parse: (cell: string) => T | undefined;
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

/** Largest magnitude of a figure: products and sums of such numbers stay finite. */
const MAX_FIGURE = 1e18;

/** Parses a decimal number of at most `MAX_FIGURE`; `undefined` for any other text. */
function parseNumber(cell: string): number | undefined {
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
  parse: (cell) => {
    const value = parseNumber(cell);
    return value !== undefined && value > 0 ? value : undefined;
  },
};

/** A number of at least 0. */
export const nonNegative: Column<number> = {
  expected: "a number of at least 0",
  parse: (cell) => {
    const value = parseNumber(cell);
    return value !== undefined && value >= 0 ? value : undefined;
  },
};

/** An ISO date that exists. */
export const date: Column<string> = {
  expected: "a date such as 2014-06-09",
  parse: (cell) => (DATE.test(cell) && parseReal(cell) !== undefined ? cell : undefined),
};

/** A UTC instant, read as Unix milliseconds; finer digits are cut. */
export const instant: Column<number> = {
  expected: "a UTC instant such as 2013-10-07T12:00:16.051Z",
  parse: (cell) => (INSTANT.test(cell) ? parseReal(cell) : undefined),
};

/** Any text, empty too. */
export const text: Column<string> = { expected: "text", parse: (cell) => cell };

/** Text of at least one character. */
export const filledText: Column<string> = {
  expected: "text that is not empty",
  parse: (cell) => (cell === "" ? undefined : cell),
};

/** Text of a given form. */
export function matching(pattern: RegExp, expected: string): Column<string> {
  return { expected, parse: (cell) => (pattern.test(cell) ? cell : undefined) };
}

/** One of a closed list of words. */
export function oneOf<W extends string>(words: readonly W[]): Column<W> {
  return {
    expected: `one of ${words.join(", ")}`,
    parse: (cell) => words.find((word) => word === cell),
  };
}

/** A column whose cells may be empty, read as `null`. */
export function optional<T>({ expected, parse }: Column<T>): Column<T | null> {
  return {
    expected: `${expected}, or nothing`,
    parse: (cell) => (cell === "" ? null : parse(cell)),
  };
}
