import { setTimeout as pause } from "node:timers/promises";
import { postJson } from "../support/agent.ts";

/** A client of one process. */
export interface EventClient {
  readonly base: string;
  readonly key: string;
}

/** The parts of an event that are compared. */
export interface ReceivedEvent {
  readonly id: string;
  readonly symbol: string;
  readonly sequence: number;
  readonly asOf: string;
  readonly type: string;
}

/** Options of the alerts. */
interface Watching {
  /**
   * Number of the attempt. Alerts with the same thresholds share state, so each attempt has its own
   * thresholds.
   */
  readonly attempt: number;
  readonly delivery?: object;
}

/** Creates alerts for all instruments, with low thresholds so that they fire often. */
export async function watchEvents(
  { base, key }: EventClient,
  { attempt, delivery = { type: "poll" } }: Watching,
): Promise<void> {
  const often = {
    scoreMove: 5 + attempt,
    volatilityZ: (15 + attempt) / 10,
    ...{ cooldownDays: 0.25, delivery },
  };
  const making = ["stock", "etf", "crypto"].map(async (assetClass) => {
    const wanted = { ...often, assetClass };
    const made = await postJson(`${base}/api/alerts`, wanted, { "x-api-key": key });
    if (made.status !== 201) throw new Error(`the alert was not created: ${await made.text()}`);
  });
  await Promise.all(making);
}

/** Reads all events of a client. */
export async function eventsFor(asker: EventClient): Promise<readonly ReceivedEvent[]> {
  const told: ReceivedEvent[] = [];
  for (let cursor = ""; ; ) {
    const page = await pageFor(asker, cursor);
    told.push(...page.events.map(({ type, data }) => ({ ...data, type, id: data.eventId })));
    if (!page.hasMore) return told;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

/** Reads a page of events; after a 503, waits for the time in Retry-After and tries again. */
async function pageFor({ base, key }: EventClient, cursor: string): Promise<Page> {
  const url = `${base}/api/alerts/events?limit=100${cursor}`;
  for (;;) {
    const answer = await fetch(url, { headers: { "x-api-key": key } });
    if (answer.ok) return (await answer.json()) as Page;
    const said = await answer.text();
    if (answer.status !== 503) throw new Error(`the events cannot be read: ${said}`);
    await pause(1_000 * Number(answer.headers.get("retry-after")));
  }
}

interface Page {
  readonly events: readonly {
    readonly type: string;
    readonly data: Omit<ReceivedEvent, "id" | "type"> & { readonly eventId: string };
  }[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}
