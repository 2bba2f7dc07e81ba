import type { Datum, Reading } from "../sources/live/provider.ts";
import type { Archive } from "../store/archive.ts";
import type { Operation } from "../store/records.ts";
import { rejectedRow, rowOf, tellOf } from "./rows.ts";
import { vet } from "./vet.ts";

/** What was kept. */
interface Kept {
  /** What the newest datum is about, Unix milliseconds; `null` without any. */
  readonly newestAt: number | null;
  /** To be committed, so that every process reads what is new. */
  readonly announcements: readonly Operation[];
}

/**
 * Writes what an answer brought, bars only as far as they can be true; on disk when it resolves.
 *
 * @param given Who gave it, and when it was here (Unix milliseconds).
 */
export async function keep(
  reading: Pick<Reading, "data" | "rejected">,
  given: { readonly provider: string; readonly observedAt: number },
  { archive }: { readonly archive: Pick<Archive, "append" | "read"> },
): Promise<Kept> {
  const { data, rejected } = await vet(reading, archive);
  const rows = data.map((datum) => rowOf(datum, given));
  const quarantined = rejected.map((one) => rejectedRow(one, given));
  if (rows.length + quarantined.length > 0) await archive.append([...rows, ...quarantined]);
  return {
    newestAt: newestOf(data),
    announcements: tellOf(data),
  };
}

const newestOf = (data: readonly Datum[]): number | null =>
  data.reduce<number | null>((newest, { at }) => Math.max(newest ?? at, at), null);
