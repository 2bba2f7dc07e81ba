import { FACTORS, type Factor } from "../../../factors/reading.ts";
import type { Snapshot, StockRanking } from "../../../score/snapshot.ts";
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
  const { snapshot, session, methodVersion } = explanation;
  const { instrument, signal, price, ranking } = snapshot;
  return [
    `${instrument.symbol}  ${instrument.name}  (${instrument.assetClass}${instrument.sector ? `, ${instrument.sector}` : ""})`,
    `Close of ${session}, ${instant(snapshot.at)}, price ${price?.value ?? "unknown"}, method ${methodVersion}`,
    `Peer tables frozen at ${instant(snapshot.tables?.epoch ?? null)}`,
    ...(table ? [`  version ${table.version}`, `  sha256  ${table.sha256}`] : []),
    "",
    ...FACTORS.flatMap((factor) => factorLines(factor, snapshot)),
    ...(ranking ? rankingLines(snapshot, ranking) : compositeLines(explanation)),
    `confidence ${six(snapshot.confidence)}, coverage ${six(snapshot.coverage)}`,
    `signal = ${signal.direction} since ${instant(signal.since)}, smoothed score ${six(signal.smoothed)}${signal.forcedWait ? `, forced: ${signal.forcedWait}` : ""}`,
  ];
}

function factorLines(factor: Factor, { factors }: Snapshot): readonly string[] {
  const { z, confidence, status, asOf, inputs, place } = factors[factor];
  const head = `${factor}: z ${six(z)}, confidence ${six(confidence)}, ${status}, as of ${instant(asOf)}`;
  const lines = inputs.map(
    ({ name, value, unit, z: inputZ, weight, rank, of }) =>
      `  ${name.padEnd(20)} ${number(value).padStart(22)} ${unit.padEnd(20)} z ${six(inputZ).padStart(9)}  weight ${six(weight).padStart(9)}${rank === undefined ? "" : `  rank ${rank} of ${of}`}`,
  );
  return [head, ...lines, ...(place ? [`  its z is ${place.rank} of ${place.of}`] : []), ""];
}

/** The score of a stock. */
const rankingLines = (
  { score, factors }: Snapshot,
  { z, place }: StockRanking,
): readonly string[] => [
  "factor         points",
  ...FACTORS.map(
    (factor) => `${factor.padEnd(12)} ${factors[factor].contribution.toFixed(2).padStart(8)}`,
  ),
  "",
  `Z      = ${six(z)}`,
  place === null
    ? "score  = none: no part of it could be measured"
    : `score  = 100 (rank ${place.rank} - 0.5) / ${place.of} = ${six(score)}`,
];

/** The score of a fund or coin. */
const compositeLines = ({ snapshot, evidence, scale }: ScoreExplanation): readonly string[] => [
  "factor          weight x confidence x      z =  evidence   points",
  ...FACTORS.map((factor) => sumLine(factor, snapshot)),
  "",
  `Z      = ${six(evidence)} / sqrt(sum w^2) ${six(scale)} = ${six(evidence / scale)}`,
  `score  = 100 Phi(Z) = ${six(snapshot.score)}`,
];

function sumLine(factor: Factor, { factors }: Snapshot): string {
  const { weight, confidence, z, contribution } = factors[factor];
  const cells = [six(weight), six(confidence), six(z), six(weight * confidence * (z ?? 0))];
  const [w = "", c = "", value = "", evidence = ""] = cells.map((cell) => cell.padStart(9));
  return `${factor.padEnd(12)} ${w}  ${c}    ${value}  ${evidence}  ${contribution.toFixed(2).padStart(7)}`;
}

const six = (value: number | null): string => (value === null ? "none" : value.toFixed(6));

const number = (value: number | null): string => (value === null ? "none" : String(value));

const instant = (at: number | null): string => (at === null ? "never" : new Date(at).toISOString());
