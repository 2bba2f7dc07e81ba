import { setTimeout as pause } from "node:timers/promises";
import { CHANNEL } from "./record-sql.ts";
import type { Session } from "./session.ts";

/** Pauses before connecting again: the first, and the longest, in milliseconds. */
const PAUSE_MS = { first: 50, longest: 2_000 };

/** What is announced in a database. */
export interface Announcements {
  /** Like `Records.onAnnounce`. */
  on(topic: string, listener: (text: string) => void): () => void;
  /** Ends the connection. */
  close(): Promise<void>;
}

/** What listening needs. */
export interface AnnouncementsOptions {
  /** Makes a connection of its own. */
  connect(): Promise<Session>;
  /** How often the connection is tried, in milliseconds; a dead one may be silent for hours. */
  readonly tryMs: number;
  /** Called when the connection was lost, and when a listener failed. */
  onWarning(text: string, error?: unknown): void;
}

/** A connection that listens. */
interface Subscription {
  readonly session: Session;
  /** Resolves when it is lost. */
  readonly lost: Promise<void>;
}

type Listeners = Map<string, Set<(text: string) => void>>;

/**
 * Listens to all topics; resolves when it does. It connects again by itself.
 *
 * @throws {Problem} `store_unavailable` when the first connection fails.
 */
export async function listen(options: AnnouncementsOptions): Promise<Announcements> {
  const listeners: Listeners = new Map();
  const stop = new AbortController();
  const first = await subscribe(options, listeners);
  const listening = keepListening(first, { ...options, listeners, stop: stop.signal });
  return {
    on(topic, listener) {
      const own = (text: string) => listener(text);
      const all = listeners.get(topic) ?? new Set();
      listeners.set(topic, all.add(own));
      return () => {
        all.delete(own);
        if (all.size === 0 && listeners.get(topic) === all) listeners.delete(topic);
      };
    },
    async close() {
      stop.abort();
      await listening;
    },
  };
}

async function subscribe(
  { connect, onWarning }: AnnouncementsOptions,
  listeners: Listeners,
): Promise<Subscription> {
  const session = await connect();
  const lost = new Promise<void>((resolve) => {
    session.listen((payload) => tell(listeners, payload, onWarning), resolve);
  });
  try {
    await session.query(`listen ${CHANNEL}`);
  } catch (error) {
    await session.close();
    throw error;
  }
  return { session, lost };
}

async function keepListening(
  first: Subscription,
  options: AnnouncementsOptions & { readonly listeners: Listeners; readonly stop: AbortSignal },
): Promise<void> {
  const { listeners, stop, tryMs, onWarning } = options;
  let subscription: Subscription | undefined = first;
  let pauseMs = 0;
  while (!stop.aborted) {
    if (subscription !== undefined) {
      await untilLost(subscription, stop, tryMs);
      pauseMs = PAUSE_MS.first;
      if (!stop.aborted) onWarning("The connection for announcements was lost; it is made again.");
    }
    await pause(pauseMs * (1 + Math.random()), undefined, { signal: stop }).catch(ignore);
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest);
    if (stop.aborted) return;
    subscription = await subscribe(options, listeners).catch(ignore);
  }
  await subscription?.session.close();
}

async function untilLost(
  { session, lost }: Subscription,
  stop: AbortSignal,
  tryMs: number,
): Promise<void> {
  const timer = setInterval(() => {
    session.query("select 1").catch(session.close);
  }, tryMs);
  const stopped = new Promise((resolve) => {
    stop.addEventListener("abort", resolve, { once: true });
  });
  await Promise.race([lost, stopped]);
  clearInterval(timer);
  await session.close();
}

function tell(
  listeners: Listeners,
  payload: string,
  onWarning: AnnouncementsOptions["onWarning"],
): void {
  const [topic, text] = announced(payload);
  for (const listener of [...(listeners.get(topic) ?? [])]) {
    try {
      listener(text);
    } catch (error) {
      onWarning(`A listener of "${topic}" failed.`, error);
    }
  }
}

/** Anybody who may use the database may send something else on the channel. */
function announced(payload: string): readonly [topic: string, text: string] {
  try {
    const [topic, text] = JSON.parse(payload) as readonly unknown[];
    return [String(topic), String(text)];
  } catch {
    return ["", ""];
  }
}

const ignore = () => undefined;
