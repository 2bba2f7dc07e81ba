/** Multipliers of amounts by unit, for example 1,000 for "k" and "thousand". */
const MULTIPLES: ReadonlyMap<string, number> = new Map([
  ...["k", "thousand"].map((unit) => [unit, 1e3] as const),
  ...["m", "mm", "mln", "mn", "million"].map((unit) => [unit, 1e6] as const),
  ...["b", "bn", "bln", "billion"].map((unit) => [unit, 1e9] as const),
  ...["t", "tn", "trillion"].map((unit) => [unit, 1e12] as const),
  ...["c", "cent", "cents"].map((unit) => [unit, 0.01] as const),
]);

/** Maximum distance in tokens between a figure and the comparing word ("vs", "from"). */
const REACH = 3;

/** Matches a year, which is not an amount: "2020 vs. 2019" compares no amounts. */
const YEAR = /^(?:19|20)\d\d$/u;

/**
 * Matches money, a percentage, or a number with a separator. In comparisons with "from", a plain
 * number without a unit does not count: "from 9 to 5" compares no amounts.
 */
const AMOUNT = /[$%]|\d[.,]\d/u;

/**
 * Sign of the current amount minus the previous amount: 3.1 - 2.9 in "3.1 bln vs. 2.9 bln", 5 - 4
 * in "to 5% from 4%" and "from 4% to 5%". It is 0 if the token at `at` does not compare two
 * amounts.
 */
export function comparisonSign(tokens: readonly string[], at: number): number {
  const token = tokens[at];
  if (token === "vs" || token === "versus") {
    return sign(figure(tokens, { at, step: -1 }), figure(tokens, { at, step: 1 }));
  }
  if (token !== "from") return 0;
  const to = tokens.slice(at + 1, at + 1 + REACH).indexOf("to");
  const now =
    to < 0 ? amount(tokens, { at, step: -1 }) : amount(tokens, { at: at + 1 + to, step: 1 });
  return sign(now, amount(tokens, { at, step: 1 }));
}

/** Sign of `now` minus `before`; 0 if one of them is unknown. */
const sign = (now: number | undefined, before: number | undefined): number =>
  now === undefined || before === undefined ? 0 : Math.sign(now - before);

/** Start and direction of the search for a figure. */
interface Search {
  readonly at: number;
  /** -1 searches backward, 1 forward. */
  readonly step: -1 | 1;
}

/**
 * The nearest figure, multiplied by its unit; if the figure is a range, the nearer end of the
 * range.
 */
function figure(tokens: readonly string[], search: Search): number | undefined {
  const { digits, unit } = nearest(tokens, search);
  const value = Number.parseFloat(digits.replace("−", "-").replace(/[$,+]/gu, ""));
  if (Number.isNaN(value) || (unit === undefined && YEAR.test(digits))) return undefined;
  return value * (unit ?? 1);
}

/** The nearest figure that is clearly an amount. */
function amount(tokens: readonly string[], search: Search): number | undefined {
  const { digits, unit } = nearest(tokens, search);
  return unit === undefined && !AMOUNT.test(digits) ? undefined : figure(tokens, search);
}

function nearest(tokens: readonly string[], { at, step }: Search) {
  for (let distance = 1; distance <= REACH; distance++) {
    const token = tokens[at + step * distance] ?? "";
    if (!/\d/u.test(token)) continue;
    const digits = token.split(/(?<=\d)-/u).at(step === 1 ? 0 : -1) ?? "";
    return { digits, unit: MULTIPLES.get(tokens[at + step * distance + 1] ?? "") };
  }
  return { digits: "", unit: undefined };
}
