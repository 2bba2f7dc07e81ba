import { describe, expect, it } from "vitest";
import { closeOf, METHOD_MARKET, SCORED_FROM } from "../../../src/method/invented-market.ts";
import { recordedCandidate } from "../../../src/method/recorded-candidate.ts";
import { runningCandidate } from "../../../src/method/running.ts";
import {
  CANDIDATE,
  type CandidateReading,
  candidateReading,
} from "../../../src/score/candidate.ts";
import type { InstrumentState } from "../../../src/score/instrument-state.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { rankClose } from "../../../src/score/stock-ranking.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";
import { randomAt } from "../../../src/statistics/random.ts";
import { CandidatesAnswer, candidatesAnswer } from "../../../src/tool/candidate.ts";
import { snapshotOf } from "../../support/scripted-market.ts";
import { closedSnapshots } from "./markets.ts";

const NONE = Number.NaN;

/** Random numbers in [-0.5, 0.5), some of which are missing (NaN). */
const column = (count: number, seed: number, missing = 0): Float64Array =>
  Float64Array.from({ length: count }, (_, index) =>
    missing > 0 && index % missing === 0 ? NONE : randomAt(seed, index) - 0.5,
  );

const none = (count: number): Float64Array => new Float64Array(count).fill(NONE);

/** The normal score of each known value, computed one value at a time. */
function scoresOf(values: readonly number[]): (number | null)[] {
  const known = values.filter((value) => !Number.isNaN(value));
  return values.map((value) => {
    if (Number.isNaN(value)) return null;
    const below = known.filter((one) => one < value).length;
    const ties = known.filter((one) => one === value).length;
    return normalQuantile((below + ties / 2) / known.length);
  });
}

/** Measurements of the stocks of a close, all in the same order. */
interface Columns {
  readonly sectors: readonly (string | null)[];
  readonly surprise: Float64Array;
  readonly residualMomentum: Float64Array;
  readonly monthReturn: Float64Array;
}

/** The readings of stocks with these measurements at a close. */
function readingsOf({ sectors, ...columns }: Columns, at: number): readonly CandidateReading[] {
  const stocks = sectors.map((sector, position) => ({
    state: { instrument: { sector } } as InstrumentState,
    raw: {
      surprise: columns.surprise[position] as number,
      residualMomentum: columns.residualMomentum[position] as number,
      monthReturn: columns.monthReturn[position] as number,
      social: NONE,
      darkpool: NONE,
    },
  }));
  const { tables, standings } = rankClose(stocks, { at, marketMonthReturn: 0 });
  return standings.map((standing) => candidateReading(standing, tables));
}

const partOf = (readings: readonly CandidateReading[], part: keyof CandidateReading["parts"]) =>
  readings.map(({ parts }) => parts[part]);

function expectNear(found: readonly (number | null)[], wanted: readonly (number | null)[]): void {
  expect(found.length).toBe(wanted.length);
  for (const [index, value] of wanted.entries()) {
    if (value === null) expect(found[index]).toBeNull();
    else expect(found[index]).toBeCloseTo(value, 12);
  }
}

describe("the candidate method", () => {
  const count = 60;
  const sectors = Array.from({ length: count }, (_, index) =>
    index >= 58 ? "Small" : index % 4 === 3 ? null : `Sector ${index % 4}`,
  );

  it("averages the normal scores of the inputs that are available", () => {
    const surprise = column(count, 1, 3);
    const readings = readingsOf(
      {
        sectors: sectors.map(() => null),
        surprise,
        residualMomentum: column(count, 2, 7),
        monthReturn: column(count, 3),
      },
      5,
    );
    expectNear(partOf(readings, "surprise"), scoresOf([...surprise]));
    for (const { z, at, parts } of readings) {
      const known = Object.values(parts).filter((part) => part !== null);
      expect(z).toBeCloseTo(known.reduce((sum, part) => sum + part, 0) / known.length, 12);
      expect(at).toBe(5);
    }
  });

  it("ranks momentum and reversal within the sector, or within the asset class if the sector is small or unknown", () => {
    const momentum = column(count, 2, 7);
    const month = column(count, 3);
    const readings = readingsOf(
      { sectors, surprise: none(count), residualMomentum: momentum, monthReturn: month },
      5,
    );
    const relative = (values: Float64Array) =>
      [...values].map((value, index) => {
        const sector = sectors[index] ?? null;
        const isOwn = sector !== null && sector !== "Small";
        const peers = [...values].filter(
          (one, other) => !Number.isNaN(one) && (!isOwn || sectors[other] === sector),
        );
        return value - peers.reduce((sum, one) => sum + one, 0) / peers.length;
      });
    expectNear(partOf(readings, "residualMomentum"), scoresOf(relative(momentum)));
    const reversal = relative(month).map((value) => -value);
    expectNear(partOf(readings, "reversal"), scoresOf(reversal));
  });

  it("assigns the same score to equal values, whether negative, zero or positive and wherever they occur in the list", () => {
    const values = Float64Array.from({ length: count }, (_, index) => Math.floor(index / 7) - 3);
    const inputs = { residualMomentum: none(count), monthReturn: none(count) };
    const readings = readingsOf({ ...inputs, sectors, surprise: values }, 5);
    expectNear(partOf(readings, "surprise"), scoresOf([...values]));
  });

  it("assigns no score in a group that is too small", () => {
    const few = 29;
    const inputs = { surprise: column(few, 1), monthReturn: column(few, 2) };
    const readings = readingsOf(
      { ...inputs, sectors: sectors.slice(0, few), residualMomentum: none(few) },
      5,
    );
    expect(readings.every(({ z }) => z === null)).toBe(true);
  });
});

describe("the candidate method, which runs alongside the current method,", () => {
  const closed = closedSnapshots(METHOD_MARKET, [closeOf(SCORED_FROM + 20)]);
  const read = closed.filter(({ candidate }) => typeof candidate?.z === "number");

  it("scores only stocks, at the closes at which they traded", () => {
    expect(read.length).toBeGreaterThan(500);
    expect(new Set(read.map(({ instrument }) => instrument.assetClass))).toEqual(
      new Set(["stock"]),
    );
    for (const { at, price, candidate } of closed) {
      if (candidate !== undefined) expect([candidate.at, price?.at]).toEqual([at, at]);
    }
  });

  it("is stored with the snapshot, and published with its registration date and promotion rule", () => {
    const [snapshot] = read as [Snapshot];
    const { at, z, parts } = snapshot.candidate as CandidateReading;
    const { version } = runningCandidate();
    expect(JSON.stringify(recordedCandidate(snapshot.candidate))).toBe(
      JSON.stringify({ version, at, z, parts }),
    );
    const earlier = { version: "method-1+0", at, z, parts };
    expect(recordedCandidate(earlier)).toEqual(earlier);
    const answer = candidatesAnswer(snapshot);
    expect(CandidatesAnswer.strict().parse(answer)).toEqual(answer);
    expect(answer[CANDIDATE.name]).toMatchObject({
      method: version,
      registered: CANDIDATE.registered,
      rule: CANDIDATE.rule.text,
    });
    expect(candidatesAnswer(snapshotOf("C", 1, { assetClass: "crypto" }))).toEqual({});
    expect(candidatesAnswer(snapshotOf("A", 1))).toMatchObject({
      [CANDIDATE.name]: { asOf: null, z: null, parts: null },
    });
  });
});
