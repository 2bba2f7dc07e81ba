import { deliveries } from "../alerts/delivery/delivery.ts";
import type { Scoring } from "../ingest/create.ts";
import type { SignalLog } from "../log/signal-log.ts";
import type { PersistentState } from "../state.ts";
import type { ComponentState, Readiness } from "../telemetry/readiness.ts";

/**
 * Delay after which a due delivery counts as late, in milliseconds. A healthy process claims
 * deliveries within a second.
 */
const LATE_MS = 60_000;

/** Lifetime of a cached store check, in milliseconds. */
const CACHE_MS = 1_000;

/**
 * Maximum lag of the served data behind the market, in addition to the current session, in
 * milliseconds. Scoring a long history takes minutes.
 */
const MAX_BEHIND_MS = 600_000;

/**
 * Creates the check of all components. A process counts as unready only because of faults that
 * other processes may not have. A missing leader and late deliveries do not make it unready,
 * because they affect all processes alike. The schema of the store is migrated before a process
 * listens, so it needs no check.
 */
export function createReadiness({
  state,
  scoring,
  signalLog,
  isDraining,
}: {
  readonly state: PersistentState;
  readonly scoring: Scoring;
  /** The signal log of the market; `undefined` if the market has none. */
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
        // The leader is not checked for an embedded store, whose only process is the leader as soon
        // as it can write.
        ...(state.store.engine === "postgres" && { leader }),
      },
    };
  };
}

/** Caches the result of a check, so that frequent probes do not load the store. */
function cached<T>(ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const at = performance.now();
    if (last === undefined || at - last.at > CACHE_MS) last = { at, answer: ask() };
    return last.answer;
  };
}

/** Runs a check; a check that throws counts as failed. */
const checked = (ask: () => Promise<ComponentState>): Promise<ComponentState> =>
  ask().catch(() => UNKNOWN);

const UNKNOWN: ComponentState = { ok: false, detail: "could not be checked" };

/**
 * The state of the live market (required) and of its providers (optional, because stored data is
 * served even when every provider fails).
 */
async function liveChecks(live: NonNullable<Scoring["live"]>) {
  try {
    const { ok, isAnswered, detail } = await live.check();
    const answer = isAnswered ? "at least one answers" : "none answers";
    return { market: { ok, detail }, providers: { ok: isAnswered, detail: answer } };
  } catch {
    return { market: UNKNOWN, providers: UNKNOWN };
  }
}

/**
 * The state of the signal log. The log is an optional component, since it stays readable even if
 * signing is blocked or too few witnesses cosign it.
 */
const logCheck = ({ fault }: SignalLog): ComponentState => ({
  ok: fault === undefined,
  detail: fault ?? "signed",
});

async function deliveriesCheck({ store }: PersistentState): Promise<ComponentState> {
  const { oldestDueMs } = await store.backlog(deliveries);
  const ok = oldestDueMs < LATE_MS;
  return { ok, detail: ok ? "sent in time" : "late" };
}

async function leaderCheck({ isLeader, isLed }: PersistentState): Promise<ComponentState> {
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
  // A live market is scored as its data arrive, any other one when a session has closed.
  const session = mode === "live" ? 0 : dayMs;
  const ok = marketNow() - knownUntil() <= session + MAX_BEHIND_MS;
  return { ok, detail: ok ? "current" : "behind the market" };
}
