// @module-tag nightly

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { trackRecordFiguresAnswer } from "../../../src/answers/track-record.ts";
import { TRACK_RECORD_HORIZON_SESSIONS } from "../../../src/grading/run-grade.ts";
import { trackRecordTerms } from "../../../src/grading/track-record.ts";
import { AssetClass } from "../../../src/market/instrument.ts";
import { runningMethod } from "../../../src/method/running.ts";
import { answeredClaims, gradedRunsOf } from "../../support/answered-track-record.ts";
import { verified } from "../../support/log-source.ts";
import { replayedLog, saveLog } from "../../support/replayed-log.ts";
import { sharedFolder } from "../../support/shared.ts";
import { dataFolder } from "../../support/signal-log.ts";

const { methodHash } = runningMethod();

const { path, isMissing } = sharedFolder("market", "the track record recomputed in Python");

const PYTHON = "python3";
const hasPython = spawnSync(PYTHON, ["--version"]).status === 0;
if (!hasPython) {
  process.stderr.write("\nSKIPPED: the track record recomputed in Python: there is no python3\n\n");
}

const SCRIPT = join(import.meta.dirname, "../../independent/track_record.py");

/** The sessions that are replayed. */
const [FROM, TO] = ["2014-01-02", "2016-12-30"];

/** Maximum difference of an outcome or a figure, as a fraction or in points. */
const TOLERANCE = 1e-9;

it.skipIf(isMissing || !hasPython)(
  "the track record equals what Python computes from the log and the price files alone, and passes verification",
  { timeout: 7_200_000 },
  async () => {
    const { market, log } = await replayedLog(path, FROM, TO);
    const folder = dataFolder();
    await saveLog(log, folder);
    const graded = await gradedRunsOf(log);
    const records = AssetClass.options.flatMap((assetClass) =>
      TRACK_RECORD_HORIZON_SESSIONS[assetClass].map((horizon) => ({
        methodHash,
        ...trackRecordFiguresAnswer(
          graded.record({ assetClass, horizon, methodHash }, trackRecordTerms(0), 0).figures,
        ),
      })),
    );
    const claims = await answeredClaims(log.store, graded, Date.parse(`${TO}T23:59:00Z`));
    const answer = join(folder, "track-record.json");
    writeFileSync(answer, JSON.stringify({ records, claims }));

    const { stdout, stderr } = spawnSync(PYTHON, [SCRIPT, folder, path, answer], {
      encoding: "utf8",
    });
    process.stdout.write(stdout);
    expect(stderr).toBe("");
    const { outcomes, figures } = JSON.parse(stdout);
    expect(outcomes.compared).toBeGreaterThan(100_000);
    expect(figures.compared).toBeGreaterThan(100);
    expect(outcomes.largest, outcomes.where).toBeLessThan(TOLERANCE);
    expect(figures.largest, figures.where).toBeLessThan(TOLERANCE);

    const { failures, outcomes: proofs } = await verified(log, { prices: market });
    expect(failures).toEqual([]);
    expect(proofs).toMatchObject({ runs: "proved", settlements: "proved", outcomes: "proved" });
  },
);
