// @module-tag nightly

import { expect, it } from "vitest";
import { type TrackRecordFigures, trackRecordTerms } from "../../../src/grading/track-record.ts";
import { runningMethod } from "../../../src/method/running.ts";
import { runBacktest } from "../../../src/research/backtest/run-backtest.ts";
import { gradedRunsOf } from "../../support/answered-track-record.ts";
import { replayedLog } from "../../support/replayed-log.ts";
import { sharedFolder } from "../../support/shared.ts";

const { methodHash } = runningMethod();

const { path, isMissing } = sharedFolder("market", "the track record of real history");

/** First and last session that is logged. */
const [FROM, TO] = ["2014-01-02", "2016-12-30"];

/** Maximum difference of a figure, as a fraction or in points. */
const TOLERANCE = 1e-9;

/** Returns all numbers in an answer with their member paths. */
function numbersIn(value: unknown, at = ""): readonly (readonly [string, number])[] {
  if (typeof value === "number") return [[at, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => numbersIn(member, `${at}.${name}`));
}

it.skipIf(isMissing)(
  "the track record equals the backtest of the same sessions",
  { timeout: 3_600_000 },
  async () => {
    const { market, log } = await replayedLog(path, FROM, TO);
    const runs = await gradedRunsOf(log);
    const { classes } = runBacktest({
      market,
      question: {
        ...{ subject: "composite", from: FROM, to: TO, symbols: [], pace: "session", seed: 1 },
      },
      earlier: [],
      onProgress: () => undefined,
    });
    const compared: string[] = [];
    for (const { assetClass, record } of classes) {
      for (const expected of record) {
        const { horizon } = expected;
        const found: TrackRecordFigures = runs.record(
          { assetClass, horizon, methodHash },
          trackRecordTerms(0),
          0,
        ).figures;
        // The backtest omits instruments without a price in the session, while the log contains an entry
        // for them.
        const excluded = { ...found.excluded, untraded: 0, unscored: 0, failed: 0 };
        const [mine, theirs] = [numbersIn({ ...found, excluded }), numbersIn(expected)];
        expect(mine.map(([name]) => name)).toEqual(theirs.map(([name]) => name));
        for (const [index, [name, value]] of mine.entries()) {
          const difference = Math.abs(value - (theirs[index]?.[1] ?? Number.NaN));
          expect(difference, `${assetClass} ${horizon} ${name}`).toBeLessThan(TOLERANCE);
        }
        compared.push(`${assetClass} ${horizon}: ${found.runs} runs, ${mine.length} figures`);
      }
    }
    process.stdout.write(`${compared.join("\n")}\n`);
    expect(compared.length).toBeGreaterThanOrEqual(4);
  },
);
