/** Units of money and counts, as their multiple; cents are a hundredth. */
const MULTIPLES: ReadonlyMap<string, number> = new Map([
  ...["k", "thousand"].map((unit) => [unit, 1e3] as const),
  ...["m", "mm", "mln", "mn", "million"].map((unit) => [unit, 1e6] as const),
  ...["b", "bn", "bln", "billion"].map((unit) => [unit, 1e9] as const),
  ...["t", "tn", "trillion"].map((unit) => [unit, 1e12] as const),
  ...["c", "cent", "cents"].map((unit) => [unit, 0.01] as const),
]);

/** Tokens between a figure and the word that compares it. */
const REACH = 3;

/**
 * Sign of the first figure less the second, in "3.1 bln vs. 2.9 bln", "to 5% from 4%" and
 * "from 4% to 5%"; 0 when the token compares nothing.
 */
export function comparison(tokens: readonly string[], at: number): number {
  const token = tokens[at];
  if (token === "vs" || token === "versus") {
    return Math.sign(before(tokens, at) - after(tokens, at)) || 0;
  }
  if (token !== "from") return 0;
  const to = tokens.slice(at + 1, at + 6).indexOf("to");
  if (to > 0) return Math.sign(after(tokens, at + 1 + to) - after(tokens, at)) || 0;
  return Math.sign(before(tokens, at) - after(tokens, at)) || 0;
}

/** The nearest figure before a position; of a range the end that is nearer. */
function before(tokens: readonly string[], at: number): number {
  for (let place = at - 1; place >= Math.max(0, at - REACH); place--) {
    const end = (tokens[place] ?? "").split(/(?<=\d)-/u).at(-1) ?? "";
    if (/\d/u.test(end)) return valueOf(end, tokens[place + 1]);
  }
  return Number.NaN;
}

/** The nearest figure after a position. */
function after(tokens: readonly string[], at: number): number {
  for (let place = at + 1; place <= at + REACH; place++) {
    const [end = ""] = (tokens[place] ?? "").split(/(?<=\d)-/u);
    if (/\d/u.test(end)) return valueOf(end, tokens[place + 1]);
  }
  return Number.NaN;
}

function valueOf(figure: string, unit = ""): number {
  const number = Number.parseFloat(figure.replace("−", "-").replace(/[,$+]/gu, ""));
  return number * (MULTIPLES.get(unit) ?? 1);
}
