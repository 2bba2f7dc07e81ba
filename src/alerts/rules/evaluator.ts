import { setImmediate } from "node:timers/promises";
import type { Instrument } from "../../market/instrument.ts";
import type { Market } from "../../market/market.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import { alerts } from "../alert.ts";
import {
  type ClosedSessions,
  type ClosedSessionsOptions,
  createClosedSessions,
} from "./closed-sessions.ts";
import {
  type DecidingOptions,
  decide,
  emptyEntry,
  type OpenEntry,
  type Sighting,
} from "./deciding.ts";
import { type EvaluationState, openEvaluationState, stateKey } from "./evaluation-state.ts";
import { createFanOut, type FanOutOptions } from "./fan-out.ts";
import { type ConditionGroup, groupByCondition } from "./matching.ts";

/** Watched instruments that are looked at, or forgotten, in one step: the first look at volatility
 *  reads all bars of an instrument, which takes a fraction of a millisecond. */
const LOOKS_PER_STEP = 50;

/** What the decision works on. */
export interface EvaluatorOptions extends FanOutOptions, ClosedSessionsOptions {
  readonly records: Records;
  readonly market: Market;
}

/** The decision about one session. */
interface Round {
  /** When it closed, Unix milliseconds. */
  readonly at: number;
  /** States that nobody needs any more. */
  readonly unwatched: string[];
  readonly sightings: Iterator<Sighting>;
  /** What is decided and not yet written. */
  entry: OpenEntry;
}

/**
 * Decides which sessions are news to which alerts: session by session, in the order in which they
 * closed, and every session once, whoever leads. An event, what is remembered of it and what is
 * sent for it are one commit; what was not committed is decided again.
 *
 * @returns A step of the work: decides about some watched instruments. It gives 1, and 0 when no
 *   session has closed since. After an error the next call goes on from what is stored.
 */
export function createEvaluator(options: EvaluatorOptions): () => Promise<number> {
  const { records, market, knownUntil } = options;
  const closed = createClosedSessions(options);
  const tell = createFanOut(options);
  let ledger: EvaluationState | undefined;
  let round: Round | undefined;
  let lookedUntil: number | undefined;
  const startOver = (): void => {
    ledger = undefined;
    round = undefined;
  };

  const step = async (): Promise<number> => {
    const until = knownUntil();
    if (round === undefined && until === lookedUntil) return 0;
    ledger ??= await openEvaluationState({ records, knownUntil: until, dayMs: market.dayMs });
    round ??= await beginRound(ledger, options, closed);
    if (round === undefined) {
      lookedUntil = until;
      return 0;
    }
    const outcome = await decideSome(round, { ledger, closed, tell });
    if (outcome === "overtaken") startOver();
    if (outcome === "over") round = undefined;
    // An embedded store writes at once: others must have their turn between two steps.
    await setImmediate();
    return 1;
  };
  return async () => {
    try {
      return await step();
    } catch (error) {
      startOver();
      throw error;
    }
  };
}

async function beginRound(
  ledger: EvaluationState,
  { records, now, snapshots }: EvaluatorOptions,
  closed: ClosedSessions,
): Promise<Round | undefined> {
  const close = closed.next(ledger.progress.until);
  if (close === undefined) return undefined;
  const audiences = groupByCondition(await readAll(records, alerts), now().getTime());
  const instruments = snapshots.allNewest().map(({ instrument }) => instrument);
  return {
    at: close.at,
    unwatched: unwatchedOf(ledger.places(), audiences, instruments),
    sightings: sightingsOf(audiences, close.snapshots),
    entry: emptyEntry(ledger),
  };
}

/** States of what no alert watches any more: a later one must not begin where those ended. */
function unwatchedOf(
  places: ReturnType<EvaluationState["places"]>,
  audiences: readonly ConditionGroup[],
  instruments: readonly Instrument[],
): string[] {
  const byKey = new Map(audiences.map((audience) => [audience.watch.key, audience]));
  const bySymbol = new Map(instruments.map((instrument) => [instrument.symbol, instrument]));
  const isWatched = (watchKey: string, symbol: string): boolean => {
    const instrument = bySymbol.get(symbol);
    return instrument !== undefined && (byKey.get(watchKey)?.watches(instrument) ?? false);
  };
  return places.filter((place) => !isWatched(...place)).map((place) => stateKey(...place));
}

function* sightingsOf(
  audiences: readonly ConditionGroup[],
  snapshots: ReadonlyMap<string, Snapshot>,
): Generator<Sighting> {
  for (const audience of audiences) {
    for (const snapshot of audience.watched(snapshots)) yield { audience, snapshot };
  }
}

/** Decides about the next watched instruments of a session. @returns `overtaken` when somebody else
 *  has decided meanwhile, or changed an alert that was to be told. */
async function decideSome(
  round: Round,
  options: DecidingOptions,
): Promise<"over" | "under way" | "overtaken"> {
  const { at, unwatched, sightings } = round;
  const forgotten = unwatched.splice(0, LOOKS_PER_STEP);
  for (const key of forgotten) round.entry.states.set(key, undefined);
  const some = take(sightings, LOOKS_PER_STEP - forgotten.length);
  const entry = await decide(some, round.entry, options);
  if (entry === undefined) return "overtaken";
  round.entry = entry;
  if (forgotten.length + some.length === LOOKS_PER_STEP) return "under way";
  const last = { ...entry, until: at, toldThrough: {} };
  return (await options.ledger.commit(last)) ? "over" : "overtaken";
}

function take<T>(from: Iterator<T>, most: number): readonly T[] {
  const taken: T[] = [];
  while (taken.length < most) {
    const { value, done } = from.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}
