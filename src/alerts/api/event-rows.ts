import { setImmediate } from "node:timers/promises";
import type { ArchiveRow, ArchiveSelection } from "../../store/port/archive.ts";
import { type Owner, ownerGroup } from "../alert.ts";
import { EVENT_KIND, EVENTS_KEPT_MS, type EventRow } from "../delivery/delivery.ts";
import type { AlertDependencies } from "./dependencies.ts";

/** Rows that are read at once. */
const PAGE = 500;

/** An event of somebody's alerts. */
export interface AlertEvent extends EventRow {
  /** The webhook id. */
  readonly id: string;
  /** Milliseconds since the epoch; rises from event to event, so that it names a place. */
  readonly at: number;
}

/** Which events are read. */
export interface EventSelection extends Pick<ArchiveSelection, "order"> {
  /** Of whose alerts; of a person, those of all their clients. */
  readonly owner: Pick<Owner, "kind" | "id">;
  /** Earliest instant, included; nothing is older than 30 days. */
  readonly from: number;
}

/** Reads events page by page, as long as somebody takes them. */
export async function* readEvents(
  { archive, now }: Pick<AlertDependencies, "archive" | "now">,
  { owner, from, order }: EventSelection,
): AsyncGenerator<AlertEvent> {
  const kept = now().getTime() - EVENTS_KEPT_MS;
  const selection = { subject: ownerGroup(owner), from: Math.max(from, kept), order, limit: PAGE };
  for (let after: ArchiveRow | undefined; ; ) {
    const page = await archive.read(EVENT_KIND, { ...selection, ...(after && { after }) });
    yield* page.map(keptEvent);
    after = page.at(-1);
    if (after === undefined || page.length < PAGE) return;
    // An embedded store reads at once: others must have their turn between two pages.
    await setImmediate();
  }
}

const keptEvent = ({ id, at, body }: ArchiveRow): AlertEvent => ({ ...(body as EventRow), id, at });
