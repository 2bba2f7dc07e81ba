import { setTimeout as pause } from "node:timers/promises";
import { postJson } from "../support/agent.ts";

/** Who asks which process. */
export interface Asker {
  readonly base: string;
  readonly key: string;
}

/** An event, as far as it is looked at. */
export interface Told {
  readonly id: string;
  readonly symbol: string;
  readonly sequence: number;
  readonly asOf: string;
  readonly type: string;
}

/** Options of a watching client. */
interface Watching {
  /** Number of the attempt. Alerts with equal thresholds share state; those of two attempts do not. */
  readonly attempt: number;
  readonly delivery?: object;
}

/** Makes alerts for everything, which fire about as often as they can. */
export async function watch(
  { base, key }: Asker,
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
    if (made.status !== 201) throw new Error(`no alert: ${await made.text()}`);
  });
  await Promise.all(making);
}

/** All events of a caller. */
export async function eventsFor(asker: Asker): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (let cursor = ""; ; ) {
    const page = await pageFor(asker, cursor);
    told.push(...page.events.map(({ type, data }) => ({ ...data, type, id: data.eventId })));
    if (!page.hasMore) return told;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

/** Who is asked to come later, where much else runs, does. */
async function pageFor({ base, key }: Asker, cursor: string): Promise<Page> {
  const url = `${base}/api/alerts/events?limit=100${cursor}`;
  for (;;) {
    const answer = await fetch(url, { headers: { "x-api-key": key } });
    if (answer.ok) return (await answer.json()) as Page;
    const said = await answer.text();
    if (answer.status !== 503) throw new Error(`no events: ${said}`);
    await pause(1_000 * Number(answer.headers.get("retry-after")));
  }
}

interface Page {
  readonly events: readonly {
    readonly type: string;
    readonly data: Omit<Told, "id" | "type"> & { readonly eventId: string };
  }[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}
