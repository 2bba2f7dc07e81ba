import { setTimeout as pause } from "node:timers/promises";
import { NOTIFY_CHANNEL } from "./record-sql.ts";
import type { DatabaseSession } from "./session.ts";

/** First and maximum pause before reconnecting, in milliseconds. */
const PAUSE_MS = { first: 50, longest: 2_000 };

/** Announcements between the processes that use a database. */
export interface Announcements {
  /** Subscribes to a topic, like `Records.onAnnounce`. */
  on(topic: string, listener: (text: string) => void): () => void;
  /** Closes the listening connection. */
  close(): Promise<void>;
}

/** Dependencies of `listenForAnnouncements`. */
interface AnnouncementsOptions {
  /** Opens a connection that is used only for listening. */
  connect(): Promise<DatabaseSession>;
  /**
   * Interval of connection checks, in milliseconds. Without checks, a dead connection could go
   * unnoticed for hours.
   */
  readonly tryMs: number;
  /** Called when the connection is lost, and when a listener throws. */
  onWarning(text: string, error?: unknown): void;
}

/** A connection that listens for announcements. */
interface Subscription {
  readonly session: DatabaseSession;
  /** Resolves when the connection is lost. */
  readonly lost: Promise<void>;
}

type Listeners = Map<string, Set<(text: string) => void>>;

/**
 * Subscribes to the announcements of a database. Resolves once the subscription is active;
 * reconnects automatically.
 *
 * @throws {Problem} `store_unavailable` if the first connection fails.
 */
export async function listenForAnnouncements(
  options: AnnouncementsOptions,
): Promise<Announcements> {
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
    session.listen((payload) => notify(listeners, payload, onWarning), resolve);
  });
  try {
    await session.query(`listen ${NOTIFY_CHANNEL}`);
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

function notify(
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

/**
 * Parses the payload of a notification. Invalid payloads are possible, because any database user
 * can notify the channel.
 */
function announced(payload: string): readonly [topic: string, text: string] {
  try {
    const [topic, text] = JSON.parse(payload) as readonly unknown[];
    return [String(topic), String(text)];
  } catch {
    return ["", ""];
  }
}

const ignore = () => undefined;
