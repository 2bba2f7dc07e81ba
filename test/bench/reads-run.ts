import type { AlertSystem } from "../../src/alerts/create.ts";
import { createToolAnswers, type ToolAnswers } from "../../src/http/api/answers.ts";
import type { Scoring } from "../../src/ingest/create.ts";
import { ScoringEngine } from "../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../src/score/snapshot-archive.ts";
import { createToolContext } from "../../src/tool/create-context.ts";
import type { ToolCall } from "../../src/tool/tool.ts";
import { getSignal } from "../../tools/get-signal.ts";
import { closeOf, createMarket, WARM_SESSIONS } from "./engine/made-market.ts";

/**
 * Measures answers with many instruments: `reads-run.ts <instruments>` prints JSON with the time of
 * the first answer to each question after a session, and the time of the answer to the repeated
 * question.
 */

/**
 * Number of instruments that are asked for one by one; number of pages; length of the shortest
 * page. Each page has one item more than the page before, so that the lengths center on 50.
 */
const SYMBOLS = 500;
const PAGES = 40;
const SHORTEST = 31;

/** Microseconds per answer, for the first answer and for its repetition. */
export interface Reads {
  readonly symbolUs: Times;
  readonly pageUs: Times;
}
interface Times {
  readonly first: readonly number[];
  readonly again: readonly number[];
}

function answersAbout(size: number): ToolAnswers {
  const market = createMarket(size, "bars");
  const snapshots = createSnapshotArchive();
  const engine = new ScoringEngine(market, snapshots);
  const at = closeOf(WARM_SESSIONS - 1);
  engine.refresh(at);
  const clock = { marketNow: () => at, knownUntil: () => at, isProvisional: () => false };
  const scoring = { market, snapshots, ...clock };
  // The service's other parts are missing, because get_signal does not use them.
  return createToolAnswers(createToolContext(scoring as unknown as Scoring, {} as AlertSystem));
}

/** The call context of a caller without extra scopes. */
const CALL = { scopes: new Set() } as unknown as ToolCall;

async function timed(answers: ToolAnswers, inputs: readonly object[]): Promise<readonly number[]> {
  const took: number[] = [];
  for (const input of inputs) {
    const start = performance.now();
    await answers.of(getSignal, input, CALL);
    took.push(1_000 * (performance.now() - start));
  }
  return took;
}

async function twice(answers: ToolAnswers, inputs: readonly object[]): Promise<Times> {
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
