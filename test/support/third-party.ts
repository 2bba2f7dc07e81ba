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
}

interface FactorAnswer {
  readonly z: number | null;
  readonly confidence: number;
  readonly status: string;
  readonly inputs: readonly Input[];
}

export interface FactorsAnswer {
  readonly symbol: string;
  readonly assetClass: "stock" | "etf" | "crypto";
  readonly sector: string | null;
  readonly tableVersion: string;
  readonly score: number;
  readonly scoreRaw: number;
  readonly factors: Readonly<Record<string, FactorAnswer>>;
}

type Knots = readonly number[];

export interface MethodAnswer {
  readonly parameters: {
    readonly weights: Readonly<Record<string, Readonly<Record<string, number>>>>;
    readonly normalisation: { readonly probabilities: readonly number[] };
    readonly momentum: { readonly windows: { readonly windowReturns: number } };
    readonly social: {
      readonly attention: { readonly threshold: number; readonly penalty: number };
    };
  };
  readonly tables: readonly {
    readonly version: string;
    readonly sha256: string;
    readonly content: {
      readonly momentum: Readonly<Record<string, Knots>>;
      readonly valuation: {
        readonly yields: Readonly<Record<string, Readonly<Record<string, Knots>>>>;
        readonly combined?: Knots;
      };
    };
  }[];
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

/** Recomputes the z-score of every factor, and the score. */
export function recompute(answer: FactorsAnswer, method: MethodAnswer) {
  const { parameters } = method;
  const { probabilities } = parameters.normalisation;
  const table = method.tables.find(({ version }) => version === answer.tableVersion);
  if (table === undefined) throw new Error(`no table ${answer.tableVersion}`);
  const hash = createHash("sha256").update(canonical(table.content)).digest("hex");
  if (hash !== table.sha256 || !table.version.endsWith(hash.slice(0, 16))) {
    throw new Error(`table ${table.version} is not what its hash says`);
  }

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
  const valuation = ({ inputs }: FactorAnswer): number => {
    if (answer.assetClass === "crypto") return weighted(inputs);
    const zs = inputs.map(({ name, value, z, weight }) => {
      const bySector = table.content.valuation.yields[name];
      if (bySector === undefined || value === null || weight === 0) return weight * (z ?? 0);
      return weight * ecdf((bySector[answer.sector ?? ""] ?? bySector[""]) as Knots, value);
    });
    return combined(table.content.valuation.combined, sum(zs));
  };
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
  return { z, score: 100 * phi(evidence / length) };
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
