/** Value of a task's answer. */
export type Value = string | number | readonly string[] | readonly number[];

/**
 * Format of an answer: the sentence in the question that requests it, and the rule by which a text
 * is judged.
 */
export interface AnswerFormat {
  /** Last sentence of the question, which requests the format. */
  readonly says: string;
  /** Whether a text states the expected value in this format. */
  fits(text: string, expected: Value): boolean;
  /** Formats a value as a perfect player would. */
  write(value: Value): string;
  /** Returns a wrong value in the right format. */
  spoil(value: Value): Value;
}

/** The answer for data that the service does not have. */
export const UNKNOWN = "UNKNOWN";

/** Removes quotes, code marks and the final full stop around an answer. */
function bare(text: string): string {
  const inside = /^```\w*\n([\s\S]*?)\n?```$/.exec(text.trim())?.[1] ?? text;
  return inside
    .trim()
    .replace(/^(["'`]|\*\*)([\s\S]*)\1\.?$/, "$2")
    .replace(/\.$/, "")
    .trim();
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

const listIn = (text: string): readonly unknown[] => {
  try {
    const value: unknown = JSON.parse(bare(text));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
};

/** A word or a name; case does not matter. @param says Sentence that requests it. */
export const word = (says: string): AnswerFormat => ({
  says,
  fits: (text, expected) => isSame(bare(text), String(expected)),
  write: String,
  spoil: (value) => `${value}X`,
});

/** The symbol of an instrument. */
export const symbol = word("Answer with the symbol alone.");

/** One of the given words. */
export const choice = (...words: readonly [string, string, ...string[]]): AnswerFormat => ({
  ...word(`Answer with one of these words: ${words.slice(0, -1).join(", ")} or ${words.at(-1)}.`),
  spoil: (value) => words.find((one) => one !== value) ?? "",
});

/** A calendar day. */
export const day = word("Answer with the date alone, as YYYY-MM-DD.");

/** A calendar day, or the word `UNKNOWN`. */
export const dayOrUnknown = word(
  `Answer with the date alone, as YYYY-MM-DD, or with ${UNKNOWN} if the service does not say.`,
);

/** An instant in any ISO 8601 notation. */
export const instant: AnswerFormat = {
  ...word("Answer with the instant alone, in ISO 8601 and UTC."),
  fits: (text, expected) => Date.parse(bare(text)) === Date.parse(String(expected)),
  spoil: (value) => new Date(Date.parse(String(value)) + 60_000).toISOString(),
};

const decimalWords = ["a whole number", "a number with one decimal", "a number with two decimals"];

/**
 * A number.
 *
 * @param decimals Number of requested decimals, 0 to 4. The last decimal may differ by one, because
 * brief answers are rounded before they are added; whole numbers must be exact.
 */
export function number(decimals: number, { orUnknown = false } = {}): AnswerFormat {
  const step = 10 ** -decimals;
  const called = decimalWords[decimals] ?? `a number with ${decimals} decimals`;
  const otherwise = orUnknown ? `, or with ${UNKNOWN} if the service does not say` : "";
  return {
    says: `Answer with ${called} alone${otherwise}.`,
    fits(text, expected) {
      const said = bare(text);
      if (expected === UNKNOWN) return isSame(said, UNKNOWN);
      if (!/^[+\-−]?\d+(\.\d+)?$/.test(said)) return false;
      const tolerance = decimals === 0 ? 0 : 1.01 * step;
      return Math.abs(Number(said.replace("−", "-")) - Number(expected)) <= tolerance;
    },
    write: (value) => (value === UNKNOWN ? UNKNOWN : Number(value).toFixed(decimals)),
    spoil: (value) => (value === UNKNOWN ? 1 : Number(value) + 3 * step),
  };
}

/** A count, which is a whole number. */
export const count = number(0);

/** A JSON list of texts in a given order. @param what Description of the elements. */
export const list = (what: string): AnswerFormat => ({
  says: `Answer with a JSON list of ${what} alone, in that order.`,
  fits: (text, expected) => isSame(JSON.stringify(listIn(text)), JSON.stringify(expected)),
  write: (value) => JSON.stringify(value),
  spoil: (value) => [...(value as readonly string[]).slice(1), "NONE.SIM"],
});

const sorted = (values: readonly unknown[]): string =>
  JSON.stringify(values.map((one) => String(one).toLowerCase()).sort());

/** A JSON list of texts in any order. */
export const set = (what: string): AnswerFormat => ({
  ...list(what),
  says: `Answer with a JSON list of ${what} alone, in any order; [] for none.`,
  fits: (text, expected) =>
    bare(text).startsWith("[") && sorted(listIn(text)) === sorted(expected as readonly string[]),
});

/** A JSON list of numbers in a given order. @param decimals As for `number`. */
export const numbers = (what: string, decimals: number): AnswerFormat => {
  const one = number(decimals);
  return {
    says: `Answer with a JSON list of ${what} alone, each ${decimalWords[decimals]}.`,
    fits(text, expected) {
      const [said, right] = [listIn(text), expected as readonly number[]];
      return (
        said.length === right.length &&
        right.every((value, index) => one.fits(String(said[index]), value))
      );
    },
    write: (value) => `[${(value as readonly number[]).map((part) => one.write(part)).join(", ")}]`,
    spoil: (value) =>
      (value as readonly number[]).map((part, index) =>
        index === 0 ? Number(one.spoil(part)) : part,
      ),
  };
};
