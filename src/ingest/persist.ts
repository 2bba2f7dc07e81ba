import { ProviderFault } from "../sources/live/fault.ts";
import type { Observation, ParsedResponse, RejectedObservation } from "../sources/live/provider.ts";
import type { Archive, ArchiveRow } from "../store/port/archive.ts";
import { invalidIdReason, observationRow, rejectedRow } from "./market-rows.ts";

/** The result of persisting observations. */
interface Persisted {
  /** Instant of the newest observation, Unix milliseconds; `null` without any. */
  readonly newestAt: number | null;
  /** Whether the answer had rows that were not stored before. */
  readonly hasNew: boolean;
}

/**
 * Writes the observations of an answer to the archive, and the rejected ones to the quarantine.
 * Resolves once all are on disk.
 *
 * @param provenance Provider of the answer, and when it arrived (Unix milliseconds).
 * @throws {ProviderFault} `malformed` if the store refuses their content.
 */
export async function persistObservations(
  reading: Pick<ParsedResponse, "data" | "rejected">,
  provenance: { readonly provider: string; readonly observedAt: number },
  archive: Archive,
): Promise<Persisted> {
  const { data, rejected } = withValidIds(reading);
  const rows = data.map((observation) => observationRow(observation, provenance));
  const quarantined = rejected.map((one) => rejectedRow(one, provenance));
  const added = await append([...rows, ...quarantined], archive);
  return { newestAt: newestOf(data), hasNew: added > 0 };
}

/**
 * Moves observations with an invalid id to the rejected ones, so that they do not block the rest of
 * the answer.
 */
function withValidIds({ data, rejected = [] }: Pick<ParsedResponse, "data" | "rejected">) {
  const bad = data.flatMap(({ feed, symbol, at, id }): RejectedObservation[] => {
    const reason = invalidIdReason(id);
    return reason === undefined ? [] : [{ feed, symbol, at, id, reason }];
  });
  if (bad.length === 0) return { data, rejected };
  const good = data.filter(({ id }) => invalidIdReason(id) === undefined);
  return { data: good, rejected: [...rejected, ...bad] };
}

/**
 * Appends rows, and resolves with the number of those that were new. A row that the store refuses
 * because of its content would be refused again, so the answer counts as malformed.
 */
async function append(rows: readonly ArchiveRow[], archive: Archive): Promise<number> {
  if (rows.length === 0) return 0;
  try {
    return await archive.append(rows);
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    throw new ProviderFault("malformed", `what came cannot be kept: ${error.message}`);
  }
}

const newestOf = (data: readonly Observation[]): number | null =>
  data.reduce<number | null>((newest, { at }) => Math.max(newest ?? at, at), null);
