import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import canonicalize from "canonicalize";
import { type CloseTables, STAGES, type Stage } from "../score/close-tables.ts";
import { openMarket } from "../sources/open-market.ts";
import { normalQuantile } from "../statistics/normal.ts";
import { walkPanel } from "./panel-walk.ts";

/**
 * Writes the reference tables of the method, by which small markets are ranked: quantiles of every
 * stage, pooled over the closes of a market folder.
 *
 *     npm run method:reference -- --market <folder> --from 2014-07-01 --to 2018-12-31
 *
 * The social and the dark pool reading get the quantiles of the normal distribution, which they
 * have by construction, because price folders have neither messages nor trades.
 */

/** Number of quantiles, at the probabilities (i + 0.5) / 1,001. */
const QUANTILES = 1_001;
/** Significant digits of a quantile. */
const DIGITS = 7;

const { values: options } = parseArgs({
  options: {
    market: { type: "string" },
    from: { type: "string", default: "2014-07-01" },
    to: { type: "string", default: "2018-12-31" },
  },
});
if (options.market === undefined) throw new Error("Say --market <folder>.");

const { market } = await openMarket({ kind: "files", folder: options.market, asOf: undefined }, {});
const pools = new Map<Stage, number[]>(STAGES.map((stage) => [stage, []]));
const universe = new Set<string>();
let residualMomentum = 0;
let closes = 0;
const period = { from: Date.parse(options.from), to: Date.parse(`${options.to}T23:59:59Z`) };
for (const { snapshots } of walkPanel({ market, assetClass: "stock", ...period })) {
  const tables = snapshots[0]?.tables?.stocks;
  if (tables === undefined) continue;
  pool(tables);
  for (const { instrument } of snapshots) universe.add(instrument.symbol);
}

function pool({ sorted, means }: CloseTables): void {
  closes += 1;
  residualMomentum += means.residualMomentum.all.mean;
  for (const stage of STAGES) {
    const values = pools.get(stage) as number[];
    for (const value of sorted[stage]) values.push(value);
  }
}

const rounded = (value: number): number => Number(value.toPrecision(DIGITS));

function quantilesOf(stage: Stage): readonly number[] {
  const at = Array.from({ length: QUANTILES }, (_, index) => (index + 0.5) / QUANTILES);
  if (stage === "social" || stage === "darkpool") return at.map((p) => rounded(normalQuantile(p)));
  const sorted = new Float64Array(pools.get(stage) as number[]).sort();
  return at.map((p) => rounded(sorted[Math.floor(p * sorted.length)] as number));
}

const quantiles = Object.fromEntries(STAGES.map((stage) => [stage, quantilesOf(stage)]));
const content = {
  origin: `${universe.size} large US stocks, ${closes} closes from ${options.from} to ${options.to}`,
  sha256: createHash("sha256")
    .update(canonicalize(quantiles) as string)
    .digest("hex"),
  residualMomentum: rounded(residualMomentum / closes),
  quantiles,
};
const path = fileURLToPath(new URL("../score/reference-tables.json", import.meta.url));
writeFileSync(path, `${JSON.stringify(content)}\n`);
process.stdout.write(`${content.origin}; ${content.sha256}\n`);
