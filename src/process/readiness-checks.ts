import { deliveries } from "../alerts/delivery/delivery.ts";
import type { Scoring } from "../ingest/create.ts";
import type { SignalLog } from "../log/signal-log.ts";
import type { State } from "../state.ts";
import type { ComponentState, Readiness } from "./readiness.ts";

/** Age from which a due delivery counts as late, in milliseconds. A healthy process claims deliveries
 *  within a second. */
const LATE_MS = 60_000;

/** Lifetime of a cached store check, in milliseconds. */
const CACHE_MS = 1_000;

/** Accepted lag of the served data behind the market, beyond the current session, in milliseconds: a
 *  long history is scored within minutes. */
const MAX_BEHIND_MS = 600_000;

/**
 * Checks every part. This process is unready only because of faults that another process may not
 * have. A missing leader and late deliveries are not among them: they affect all processes alike.
 * The schema of the store is migrated before a process listens, so it needs no check.
 */
export function createReadiness({
  state,
  scoring,
  signalLog,
  isDraining,
}: {
  readonly state: State;
  readonly scoring: Scoring;
  /** The log of the market; `undefined` if it has none. */
  readonly signalLog: SignalLog | undefined;
  readonly isDraining: () => boolean;
}): Readiness {
  const isReplay = scoring.market.mode === "replay";
  const checkStore = cached(() =>
    Promise.all([checked(() => deliveriesCheck(state)), checked(() => leaderCheck(state))]),
  );
  return async () => {
    const [store, [queue, leader], live] = await Promise.all([
      state.probe(),
      checkStore(),
      scoring.live && liveChecks(scoring.live),
    ]);
    return {
      required: {
        process: { ok: !isDraining(), detail: isDraining() ? "stopping" : "running" },
        store,
        ...(isReplay && { replay: scoring.check() }),
        ...(live && { market: live.market }),
      },
      optional: {
        scores: scoresCheck(scoring),
        deliveries: queue,
        ...(signalLog && { log: logCheck(signalLog) }),
        ...(live && { providers: live.providers }),
        // An embedded store has one process, which is the leader as soon as it can write.
        ...(state.store.engine === "postgres" && { leader }),
      },
    };
  };
}

/** Caches a check, so that frequent probes do not load the store. */
function cached<T>(ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const at = performance.now();
    if (last === undefined || at - last.at > CACHE_MS) last = { at, answer: ask() };
    return last.answer;
  };
}

/** A check that fails counts as not ok. */
const checked = (ask: () => Promise<ComponentState>): Promise<ComponentState> =>
  ask().catch(() => UNKNOWN);

const UNKNOWN: ComponentState = { ok: false, detail: "could not be checked" };

/** Stored data are served even when every provider fails, so providers are only wanted. */
async function liveChecks(live: NonNullable<Scoring["live"]>) {
  try {
    const { ok, isAnswered, detail } = await live.check();
    const answer = isAnswered ? "at least one answers" : "none answers";
    return { market: { ok, detail }, providers: { ok: isAnswered, detail: answer } };
  } catch {
    return { market: UNKNOWN, providers: UNKNOWN };
  }
}

/** A log that may not be signed, or that no quorum of witnesses cosigns, is read as before. */
const logCheck = ({ fault }: SignalLog): ComponentState => ({
  ok: fault === undefined,
  detail: fault ?? "signed",
});

async function deliveriesCheck({ store }: State): Promise<ComponentState> {
  const { oldestDueMs } = await store.backlog(deliveries);
  const ok = oldestDueMs < LATE_MS;
  return { ok, detail: ok ? "sent in time" : "late" };
}

async function leaderCheck({ isLeader, isLed }: State): Promise<ComponentState> {
  if (isLeader()) return { ok: true, detail: "this process leads" };
  const ok = await isLed();
  return { ok, detail: ok ? "another process leads" : "no process leads" };
}

function scoresCheck({
  market: { mode, dayMs },
  snapshots,
  marketNow,
  knownUntil,
}: Scoring): ComponentState {
  if (snapshots.allNewest().length === 0) return { ok: false, detail: "no instrument has a score" };
  const session = mode === "live" ? 0 : dayMs;
  const ok = marketNow() - knownUntil() <= session + MAX_BEHIND_MS;
  return { ok, detail: ok ? "current" : "behind the market" };
}
