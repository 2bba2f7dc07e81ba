import { FACTORS, type Factor, type FactorInput } from "../../../factors/reading.ts";
import type { Snapshot } from "../../../score/snapshot.ts";
import type { ScoreExplanation } from "../explain.ts";

/** Version and hash under which the service publishes a table. */
export interface TableNames {
  readonly version: string;
  readonly sha256: string;
}

/**
 * Renders an explanation as lines for a terminal.
 *
 * @param table `undefined` if no peer table was used.
 */
export function explanationLines(
  explanation: ScoreExplanation,
  table: TableNames | undefined,
): readonly string[] {
  const { snapshot, session, methodVersion, evidence, scale } = explanation;
  const { instrument, signal, price } = snapshot;
  return [
    `${instrument.symbol}  ${instrument.name}  (${instrument.assetClass}${instrument.sector ? `, ${instrument.sector}` : ""})`,
    `Close of ${session}, ${instant(snapshot.at)}, price ${price?.value ?? "unknown"}, method ${methodVersion}`,
    `Peer tables frozen at ${instant(snapshot.tables?.epoch ?? null)}`,
    ...(table ? [`  version ${table.version}`, `  sha256  ${table.sha256}`] : []),
    "",
    ...FACTORS.flatMap((factor) => factorLines(factor, snapshot)),
    "factor          weight x confidence x      z =  evidence   points",
    ...FACTORS.map((factor) => sumLine(factor, snapshot)),
    "",
    `Z      = ${six(evidence)} / sqrt(sum w^2) ${six(scale)} = ${six(evidence / scale)}`,
    `score  = 100 Phi(Z) = ${six(snapshot.score)}   confidence ${six(snapshot.confidence)}`,
    `signal = ${signal.direction} since ${instant(signal.since)}, smoothed score ${six(signal.smoothed)}${signal.forcedWait ? `, forced: ${signal.forcedWait}` : ""}`,
  ];
}

function factorLines(factor: Factor, { factors, tables }: Snapshot): readonly string[] {
  const { z, confidence, status, asOf, inputs } = factors[factor];
  const head = `${factor}: z ${six(z)}, confidence ${six(confidence)}, ${status}, as of ${instant(asOf)}`;
  const lines = inputs.map(
    ({ name, value, unit, z: inputZ, weight }) =>
      `  ${name.padEnd(20)} ${number(value).padStart(22)} ${unit.padEnd(20)} z ${six(inputZ).padStart(9)}  weight ${six(weight).padStart(9)}`,
  );
  const isCompared = (factor === "momentum" || factor === "valuation") && tables?.[factor].combined;
  return [head, ...lines, ...(isCompared && z !== null ? [mixtureLine(inputs, z)] : []), ""];
}

/**
 * A line for momentum or the valuation of a stock: each of these factors ranks a mean z among the
 * mean z of the peers.
 */
function mixtureLine(inputs: readonly FactorInput[], z: number): string {
  const mixture = inputs.reduce((sum, input) => sum + input.weight * (input.z ?? 0), 0);
  return `  sum of weight x z ${six(mixture)}, its place among the peers' z ${six(z)}`;
}

function sumLine(factor: Factor, { factors }: Snapshot): string {
  const { weight, confidence, z, contribution } = factors[factor];
  const cells = [six(weight), six(confidence), six(z), six(weight * confidence * (z ?? 0))];
  const [w = "", c = "", value = "", evidence = ""] = cells.map((cell) => cell.padStart(9));
  return `${factor.padEnd(12)} ${w}  ${c}    ${value}  ${evidence}  ${contribution.toFixed(2).padStart(7)}`;
}

const six = (value: number | null): string => (value === null ? "none" : value.toFixed(6));

const number = (value: number | null): string => (value === null ? "none" : String(value));

const instant = (at: number | null): string => (at === null ? "never" : new Date(at).toISOString());
