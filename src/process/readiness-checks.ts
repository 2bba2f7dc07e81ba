import { deliveries } from "../alerts/delivery/delivery.ts";
import type { Check, Readiness } from "../http/api/health.ts";
import type { Scoring } from "../ingest/create.ts";
import type { State } from "../state.ts";

/** Deliveries that have been due for longer, in milliseconds, are late: a process that is well takes
 *  them within a second. */
const LATE_MS = 60_000;

/** What was asked of the store answers every check of this many milliseconds. */
const SHARED_MS = 1_000;

/** How far what is served may lie behind the market, beyond the session under way, in milliseconds:
 *  a long history is scored within minutes. */
const MAX_BEHIND_MS = 600_000;

/** What is asked whether it can do its work. */
export interface ReadinessOptions {
  readonly state: Pick<State, "store" | "probe" | "isLeader" | "isLed">;
  readonly scoring: Pick<
    Scoring,
    "market" | "snapshots" | "live" | "check" | "knownUntil" | "marketNow"
  >;
  readonly isDraining: () => boolean;
}

/**
 * Asks every part. Whatever another process could do no better is wanted and not needed: when nobody
 * leads, or deliveries are late, requests are still answered best where they are. The schema of the
 * store is brought up to date before a process serves at all.
 */
export function createReadiness({ state, scoring, isDraining }: ReadinessOptions): Readiness {
  const isReplay = scoring.market.mode === "replay";
  const checkShared = shared(() =>
    Promise.all([checked(() => deliveriesCheck(state)), checked(() => leaderCheck(state))]),
  );
  return async () => {
    const [store, [queue, leader], live] = await Promise.all([
      state.probe(),
      checkShared(),
      scoring.live && liveChecks(scoring.live),
    ]);
    return {
      needed: {
        process: { ok: !isDraining(), detail: isDraining() ? "stopping" : "running" },
        store,
        ...(isReplay && { replay: scoring.check() }),
        ...(live && { market: live.market }),
      },
      wanted: {
        ...{ scores: scoresCheck(scoring), deliveries: queue },
        ...(live && { providers: live.providers }),
        // An embedded store has one process, which leads as soon as it can write.
        ...(state.store.engine === "postgres" && { leader }),
      },
    };
  };
}

/** Asks once for all that want to know within a while, so that checks cost the store nothing however
 *  many come. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const at = performance.now();
    if (last === undefined || at - last.at > SHARED_MS) last = { at, answer: ask() };
    return last.answer;
  };
}

/** A part that cannot be asked is not well, whatever it is. */
const checked = (ask: () => Promise<Check>): Promise<Check> => ask().catch(() => UNKNOWN);

const UNKNOWN: Check = { ok: false, detail: "cannot be told" };

/** Data that came once are served whatever fails; without a provider that answers they get old. */
async function liveChecks(live: NonNullable<Scoring["live"]>) {
  try {
    const { ok, isAnswered, detail } = await live.check();
    const answer = isAnswered ? "at least one answers" : "none answers";
    return { market: { ok, detail }, providers: { ok: isAnswered, detail: answer } };
  } catch {
    return { market: UNKNOWN, providers: UNKNOWN };
  }
}

async function deliveriesCheck({ store }: Pick<State, "store">): Promise<Check> {
  const { oldestDueMs } = await store.backlog(deliveries);
  const ok = oldestDueMs < LATE_MS;
  return { ok, detail: ok ? "sent in time" : "late" };
}

async function leaderCheck({ isLeader, isLed }: Pick<State, "isLeader" | "isLed">): Promise<Check> {
  if (isLeader()) return { ok: true, detail: "this process leads" };
  const ok = await isLed();
  return { ok, detail: ok ? "another process leads" : "no process leads" };
}

function scoresCheck({
  market: { mode, dayMs },
  snapshots,
  marketNow,
  knownUntil,
}: ReadinessOptions["scoring"]): Check {
  if (snapshots.allNewest().length === 0) return { ok: false, detail: "no instrument has a score" };
  const session = mode === "live" ? 0 : dayMs;
  const ok = marketNow() - knownUntil() <= session + MAX_BEHIND_MS;
  return { ok, detail: ok ? "current" : "behind the market" };
}
