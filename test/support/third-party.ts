import { createHash } from "node:crypto";

/**
 * Recomputes the score as a third party would: from an answer of get_factors and the published
 * method, both as JSON. It uses no code of the project, not even its normal distribution.
 */

interface Input {
  readonly name: string;
  readonly value: number | null;
  readonly z: number | null;
  readonly weight: number;
  readonly relative?: number;
  readonly rank?: number;
  readonly of?: number;
}

interface Place {
  readonly rank: number;
  readonly of: number;
}

interface FactorAnswer {
  readonly z: number | null;
  readonly confidence: number;
  readonly contribution: number;
  readonly place?: Place;
  readonly status: string;
  readonly inputs: readonly Input[];
}

export interface FactorsAnswer {
  readonly symbol: string;
  readonly assetClass: "stock" | "etf" | "crypto";
  readonly sector: string | null;
  readonly tableVersion: string;
  readonly score: number | null;
  readonly scoreRaw: number | null;
  readonly ranking?: {
    readonly peers: "covered" | "reference";
    readonly z: number | null;
    readonly place: Place | null;
    readonly closeZ: number | null;
  };
  readonly factors: Readonly<Record<string, FactorAnswer>>;
}

type Knots = readonly number[];

export interface MethodAnswer {
  readonly parameters: {
    readonly weights: Readonly<Record<string, Readonly<Record<string, number>>>>;
    readonly normalisation: { readonly probabilities: readonly number[] };
    readonly momentum: { readonly windows: { readonly windowReturns: number } };
    readonly stocks: {
      readonly minSector: number;
      readonly rules: { readonly weights: Readonly<Record<string, number>> };
    };
    readonly social: {
      readonly attention: { readonly threshold: number; readonly penalty: number };
    };
  };
  readonly tables: readonly {
    readonly version: string;
    readonly sha256: string;
    readonly content: {
      readonly momentum: Readonly<Record<string, Knots>>;
      readonly stocks?: {
        readonly sorted: Readonly<Record<string, readonly number[]>>;
        readonly means: Readonly<
          Record<
            string,
            Readonly<Record<string, { readonly mean: number; readonly count: number }>>
          >
        >;
      };
      readonly coins?: { readonly variances: readonly number[] };
    };
  }[];
  readonly reference?: { readonly quantiles: Readonly<Record<string, readonly number[]>> };
}

/** Standard normal distribution function by its power series, accurate to 1e-15 for |z| < 6. */
function phi(z: number): number {
  let term = z;
  let sum = z;
  for (let k = 3; k < 200; k += 2) {
    term *= (z * z) / k;
    sum += term;
  }
  return 0.5 + (sum * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

/** Inverse of the standard normal distribution function, by bisection. */
function quantile(p: number): number {
  let [low, high] = [-6, 6];
  for (let step = 0; step < 80; step++) {
    const middle = (low + high) / 2;
    if (phi(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

const clip = (z: number) => Math.max(-3, Math.min(3, z));
const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
const weighted = (inputs: readonly Input[]) =>
  sum(inputs.map(({ z, weight }) => weight * (z ?? 0)));

/**
 * Interpolates linearly between the distinct knots. A repeated knot has the midpoint of its
 * probabilities.
 */
function distribution(knots: Knots, probabilities: readonly number[], value: number): number {
  const points = [...new Set(knots)].map((knot) => {
    const ends = [knots.indexOf(knot), knots.lastIndexOf(knot)];
    return { knot, p: sum(ends.map((index) => probabilities[index] ?? Number.NaN)) / 2 };
  });
  const above = points.findIndex(({ knot }) => knot >= value);
  const high = points.at(above) as (typeof points)[number];
  if (above < 1) return high.p;
  const low = points[above - 1] as (typeof points)[number];
  return low.p + ((value - low.knot) / (high.knot - low.knot)) * (high.p - low.p);
}

/** Canonical JSON (RFC 8785) for the values in the tables: sorted names, no spaces. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(",")}}`;
}

/** What a third party finds for an answer. */
interface Recomputed {
  /** z of each factor; `null` if it has none. */
  readonly z: Readonly<Record<string, number | null>>;
  /** `null` for a stock without any part. */
  readonly score: number | null;
  readonly contributions: Readonly<Record<string, number>>;
}

/** Reads the method of an answer, with the table that the answer names and the reference tables. */
export async function readMethod(
  { methodVersion, tableVersion }: FactorsAnswer & { readonly methodVersion: string },
  read: <T>(path: string) => Promise<T>,
): Promise<MethodAnswer> {
  const path = `/api/method/${methodVersion}?tables=`;
  const { reference } = await read<MethodAnswer>(`${path}reference`);
  const method = await read<MethodAnswer>(path + encodeURIComponent(tableVersion));
  return { ...method, ...(reference && { reference }) };
}

/** The table that an answer names, if it is what its hash says. */
function tableOf(answer: FactorsAnswer, method: MethodAnswer) {
  const table = method.tables.find(({ version }) => version === answer.tableVersion);
  if (table === undefined) throw new Error(`no table ${answer.tableVersion}`);
  const hash = createHash("sha256").update(canonical(table.content)).digest("hex");
  if (hash !== table.sha256 || !table.version.endsWith(hash.slice(0, 16))) {
    throw new Error(`table ${table.version} is not what its hash says`);
  }
  return table;
}

/** Recomputes the z-score of every factor, the score and the contributions. */
export const recompute = (answer: FactorsAnswer, method: MethodAnswer): Recomputed =>
  answer.assetClass === "stock" ? recomputeStock(answer, method) : recomputeOther(answer, method);

/** The factors whose parts are ranked one by one; the others are ranked as a whole. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  momentum: ["residualMomentum", "reversal"],
  valuation: ["surprise"],
};

/** Recomputes a stock: the places of its measurements, Z, the score and the Shapley values. */
function recomputeStock(answer: FactorsAnswer, method: MethodAnswer): Recomputed {
  const { content } = tableOf(answer, method);
  const { sorted = {}, means = {} } = content.stocks ?? {};
  const { weights, minSector } = {
    weights: method.parameters.stocks.rules.weights,
    minSector: method.parameters.stocks.minSector,
  };

  /** (rank - 0.5) / n of a value, `own` being that of the same stock among the values. */
  const share = (stage: string, value: number, own: number | null): number => {
    const all = sorted[stage] ?? [];
    if (all.length < 30) {
      const knots = method.reference?.quantiles[stage] as Knots;
      return distribution(
        knots,
        knots.map((_, index) => (index + 0.5) / knots.length),
        value,
      );
    }
    const less = all.filter((one) => one < value).length - (own !== null && own < value ? 1 : 0);
    const equal = all.filter((one) => one === value).length - (own === value ? 1 : 0);
    return (less + (equal + 1) / 2) / (all.length - (own === null ? 0 : 1) + 1);
  };
  /** The place that the answer names; it must be that of the value if the value is in the table. */
  const placed = (stage: string, value: number, place: Place): number => {
    const said = (place.rank - 0.5) / place.of;
    const all = sorted[stage] ?? [];
    if (all.length < 30 || all.includes(value)) {
      const found = share(stage, value, all.length < 30 ? null : value);
      if (Math.abs(found - said) > 1e-12)
        throw new Error(`${answer.symbol} ${stage}: not its place`);
    }
    return quantile(said);
  };
  const relativeTo = (name: string): number => {
    const bySector = means[name === "reversal" ? "monthReturn" : name] ?? {};
    const own = bySector[answer.sector ?? ""];
    return (own !== undefined && own.count >= minSector ? own : bySector[""])?.mean ?? Number.NaN;
  };

  const terms: Record<string, number> = {};
  const z: Record<string, number | null> = {};
  const known = Object.values(PARTS)
    .flat()
    .filter((name) => inputOf(answer, name)?.rank !== undefined).length;
  for (const [factor, { z: said, place }] of Object.entries(answer.factors)) {
    const parts = PARTS[factor];
    if (parts === undefined) {
      z[factor] = said;
      if (said === null || place === undefined) continue;
      terms[factor] = (weights[factor] as number) * placed(factor, said, place);
      continue;
    }
    const scores = parts.flatMap((name) => {
      const { value = null, relative, rank, of } = inputOf(answer, name) ?? {};
      if (value === null || relative === undefined || rank === undefined || of === undefined)
        return [];
      const sign = name === "reversal" ? -1 : 1;
      const wanted = name === "surprise" ? value : sign * (value - relativeTo(name));
      if (Math.abs(wanted - relative) > 1e-9)
        throw new Error(`${answer.symbol} ${name}: not relative to its peers`);
      return [placed(name, relative, { rank, of })];
    });
    z[factor] = scores.length === 0 ? null : sum(scores) / scores.length;
    if (scores.length > 0) terms[factor] = ((weights.parts as number) * sum(scores)) / known;
  }
  if (known === 0) return { z, score: null, contributions: {} };

  const names = Object.keys(answer.factors).filter((name) => terms[name] !== undefined);
  const { closeZ = null } = answer.ranking ?? {};
  const worthOf = (members: readonly string[]): number => {
    if (members.length === 0) return 50;
    const exact = Math.round(sum(members.map((name) => terms[name] as number)) * 1e12) / 1e12;
    return 100 * share("composite", nearest(exact, sorted.composite ?? []), closeZ);
  };
  const contributions = Object.fromEntries(
    names.map((name) => [name, shapley(name, names, worthOf)]),
  );
  return { z, score: worthOf(names), contributions };
}

const inputOf = ({ factors }: FactorsAnswer, name: string): Input | undefined =>
  Object.values(factors)
    .flatMap(({ inputs }) => inputs)
    .find((input) => input.name === name);

/** A value, or the value of the table that differs from it only by the rounding of the last digit. */
const nearest = (value: number, all: readonly number[]): number =>
  all.find((one) => Math.abs(one - value) < 2e-12) ?? value;

/** The Shapley value of a member: the mean over all orders of what it adds. */
function shapley(
  name: string,
  names: readonly string[],
  worthOf: (members: readonly string[]) => number,
): number {
  const orders = (list: readonly string[]): (readonly string[])[] =>
    list.length === 0
      ? [[]]
      : list.flatMap((one) =>
          orders(list.filter((other) => other !== one)).map((rest) => [one, ...rest]),
        );
  const all = orders(names);
  const added = all.map((order) => {
    const before = order.slice(0, order.indexOf(name));
    const inOrder = (set: readonly string[]) => names.filter((one) => set.includes(one));
    return worthOf(inOrder([...before, name])) - worthOf(inOrder(before));
  });
  return sum(added) / all.length;
}

/** Recomputes a fund or coin. */
function recomputeOther(answer: FactorsAnswer, method: MethodAnswer): Recomputed {
  const { parameters } = method;
  const { probabilities } = parameters.normalisation;
  const table = tableOf(answer, method);

  const ecdf = (knots: Knots, value: number): number =>
    quantile(distribution(knots, probabilities, value));
  const combined = (knots: Knots | undefined, mixed: number) =>
    knots === undefined ? mixed : ecdf(knots, mixed);

  const momentum = ({ inputs }: FactorAnswer): number => {
    const zs = inputs
      .filter(({ name }) => /^(ram|res|hi52|trend\d+d)$/.test(name))
      .flatMap(({ name, value }) => {
        const knots = table.content.momentum[name];
        if (knots !== undefined) return [ecdf(knots, value ?? Number.NaN)];
        return name === "hi52" ? [] : [clip(value ?? Number.NaN)];
      });
    return combined(table.content.momentum.combined, sum(zs) / zs.length);
  };
  const valuation = ({ inputs }: FactorAnswer): number => weighted(inputs);
  const social = ({ inputs }: FactorAnswer): number => {
    const zOf = (name: string) => inputs.find((input) => input.name === name)?.z ?? null;
    const { threshold, penalty } = parameters.social.attention;
    const crowd = Math.max(0, (zOf("attention") ?? threshold) - threshold);
    return clip((zOf("bullishness") ?? Number.NaN) - penalty * crowd);
  };
  const darkpool = ({ inputs }: FactorAnswer): number => weighted(inputs);

  const ways: Readonly<Record<string, (factor: FactorAnswer) => number>> = {
    momentum,
    valuation,
    social,
    darkpool,
  };
  const z = Object.fromEntries(
    Object.entries(answer.factors).map(([name, factor]) => {
      const way = ways[name] as (factor: FactorAnswer) => number;
      return [name, factor.z === null ? null : way(factor)];
    }),
  );
  const weights = parameters.weights[answer.assetClass] as Readonly<Record<string, number>>;
  const names = Object.keys(weights);
  const evidence = sum(
    names.map((name) => {
      const { confidence = 0 } = answer.factors[name] ?? {};
      return (weights[name] as number) * confidence * (z[name] ?? 0);
    }),
  );
  const length = Math.sqrt(sum(names.map((name) => (weights[name] as number) ** 2)));
  const score = 100 * phi(evidence / length);
  const contributions = Object.fromEntries(
    names.map((name) => {
      const { confidence = 0 } = answer.factors[name] ?? {};
      const part = (weights[name] as number) * confidence * (z[name] ?? 0);
      return [name, evidence === 0 ? 0 : ((score - 50) * part) / evidence];
    }),
  );
  return { z, score, contributions };
}

/**
 * Confidence of momentum, recomputed from the gate, the length of the history and the age of the
 * price.
 */
export function momentumConfidence(
  { inputs, status }: FactorAnswer,
  { parameters }: MethodAnswer,
): number {
  const valueAt = (name: string) => inputs.find((input) => input.name === name)?.value ?? 0;
  const { windowReturns } = parameters.momentum.windows;
  const length = Math.min(1, valueAt("observations") / windowReturns);
  return valueAt("gate") * length * (status === "ok" ? 1 : 0.5);
}
