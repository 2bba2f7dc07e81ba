import type { Alerts } from "../../src/alerts/create.ts";
import { type Answers, createAnswers } from "../../src/http/api/answers.ts";
import type { Scoring } from "../../src/ingest/create.ts";
import { ScoringEngine } from "../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../src/score/snapshot-archive.ts";
import { toolContext } from "../../src/service.ts";
import type { Call } from "../../src/tool.ts";
import { getSignal } from "../../tools/get-signal.ts";
import { closeOf, createMarket, WARM_SESSIONS } from "./engine/made-market.ts";

/**
 * What an answer costs among many instruments: `reads-run.ts <instruments>` prints, as JSON, what
 * answers took that nobody had asked for since the last session, and the same again.
 */

/** Answers for one instrument, and pages: each page has another length, 50 in the middle. */
const SYMBOLS = 500;
const PAGES = 40;
const SHORTEST = 31;

/** Microseconds of each answer, the first time and again. */
export interface Reads {
  readonly symbolUs: Times;
  readonly pageUs: Times;
}
interface Times {
  readonly first: readonly number[];
  readonly again: readonly number[];
}

function answersAbout(size: number): Answers {
  const market = createMarket(size, "bars");
  const snapshots = createSnapshotArchive();
  const engine = new ScoringEngine(market, snapshots);
  const at = closeOf(WARM_SESSIONS - 1);
  engine.refresh(at);
  const analyser = { name: "lexicon", modelSha256: null } as const;
  const clock = { marketNow: () => at, knownUntil: () => at, isWarm: () => false };
  const scoring = { market, analyser, snapshots, ...clock };
  // What the tool of signals does not use is not there.
  return createAnswers(toolContext(scoring as unknown as Scoring, {} as Alerts));
}

/** A caller without extra scopes. */
const CALL = { scopes: new Set() } as unknown as Call;

async function timed(answers: Answers, inputs: readonly object[]): Promise<readonly number[]> {
  const took: number[] = [];
  for (const input of inputs) {
    const start = performance.now();
    await answers.of(getSignal, input, CALL);
    took.push(1_000 * (performance.now() - start));
  }
  return took;
}

async function twice(answers: Answers, inputs: readonly object[]): Promise<Times> {
  return { first: await timed(answers, inputs), again: await timed(answers, inputs) };
}

const size = Number(process.argv[2]);
const answers = answersAbout(size);
const symbols = Array.from({ length: SYMBOLS }, (_, at) => ({
  symbol: `S${Math.floor((at * size) / SYMBOLS)}`,
}));
const pages = Array.from({ length: PAGES }, (_, at) => ({ limit: SHORTEST + at }));
const reads: Reads = {
  symbolUs: await twice(answers, symbols),
  pageUs: await twice(answers, pages),
};
process.stdout.write(JSON.stringify(reads));
