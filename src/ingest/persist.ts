import { ProviderFault } from "../sources/live/fault.ts";
import type { Observation, Reading, Rejected } from "../sources/live/provider.ts";
import type { Archive, ArchiveRow } from "../store/port/archive.ts";
import type { Operation } from "../store/port/records.ts";
import { quarantine } from "./quarantine.ts";
import { idFault, NOTICE_TTL_MS, rejectedRow, rowOf, announceChanges } from "./rows.ts";

/** What was kept. */
interface Persisted {
  /** What the newest datum is about, Unix milliseconds; `null` without any. */
  readonly newestAt: number | null;
  /** To be committed, so that every process reads what is new. */
  readonly announcements: readonly Operation[];
}

/** Where it is kept. */
export interface PersistOptions {
  readonly archive: Pick<Archive, "append" | "read">;
  /** For how long it is news, in milliseconds; half an hour unless given. */
  readonly noticeTtlMs?: number;
}

/**
 * Writes what an answer brought, bars only as far as they can be true; on disk when it resolves.
 *
 * @param given Who gave it, and when it was here (Unix milliseconds).
 * @throws {ProviderFault} `malformed` when no store can hold it.
 */
export async function persist(
  reading: Pick<Reading, "data" | "rejected">,
  given: { readonly provider: string; readonly observedAt: number },
  { archive, noticeTtlMs: keptMs = NOTICE_TTL_MS }: PersistOptions,
): Promise<Persisted> {
  const { data, rejected } = await quarantine(named(reading), archive);
  const rows = data.map((datum) => rowOf(datum, given));
  const quarantined = rejected.map((one) => rejectedRow(one, given));
  await append([...rows, ...quarantined], archive);
  const { observedAt } = given;
  return { newestAt: newestOf(data), announcements: announceChanges(data, { observedAt, keptMs }) };
}

/** Sets apart what could not be filed under its name; one such datum must not stop all others. */
function named({ data, rejected = [] }: Pick<Reading, "data" | "rejected">) {
  const bad = data.flatMap(({ feed, symbol, at, id }): Rejected[] => {
    const reason = idFault(id);
    return reason === undefined ? [] : [{ feed, symbol, at, id, reason }];
  });
  if (bad.length === 0) return { data, rejected };
  const good = data.filter(({ id }) => idFault(id) === undefined);
  return { data: good, rejected: [...rejected, ...bad] };
}

/** What a store refuses for what it is, it will refuse again: that is a fault of the answer. */
async function append(
  rows: readonly ArchiveRow[],
  archive: PersistOptions["archive"],
): Promise<void> {
  if (rows.length === 0) return;
  try {
    await archive.append(rows);
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    throw new ProviderFault("malformed", `what came cannot be kept: ${error.message}`);
  }
}

const newestOf = (data: readonly Observation[]): number | null =>
  data.reduce<number | null>((newest, { at }) => Math.max(newest ?? at, at), null);
