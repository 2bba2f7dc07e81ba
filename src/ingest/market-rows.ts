import type { Feed } from "../market/records.ts";
import { neutralText } from "../outbound/neutral-text.ts";
import type { Observation, Rejected } from "../sources/live/provider.ts";
import type { ArchiveRow } from "../store/port/archive.ts";

/** Kind of the archive rows of a feed. */
export const archiveKindOf = (feed: Feed): string => `market-${feed}`;

/** Kind of the archive rows of quarantined observations. */
export const REJECTED_KIND = "market-rejected";

const DAY_MS = 86_400_000;

/** Maximum age of an observation at its arrival, in milliseconds. */
const OLDEST_MS = 10 * 365 * DAY_MS;

/** Retention of messages, prints and quarantined observations, in milliseconds: they are numerous,
 *  and no score looks back further. */
const RETENTION_MS = 400 * DAY_MS;

/** Retention of rows that are not kept forever, in milliseconds by their kind. */
export const ROWS_KEPT_MS: Readonly<Record<string, number>> = {
  [archiveKindOf("mentions")]: RETENTION_MS,
  [archiveKindOf("prints")]: RETENTION_MS,
  [REJECTED_KIND]: RETENTION_MS,
};

/** Provider of an observation, and when it arrived (Unix milliseconds). */
interface Provenance {
  readonly provider: string;
  readonly observedAt: number;
}

/** Body of the row of an observation. */
export interface ObservationBody extends Provenance {
  readonly record: Observation["record"];
}

/** Body of the row of a quarantined observation. */
export interface RejectedBody extends Provenance, Pick<Rejected, "feed" | "symbol" | "reason"> {}

/** Maximum length of an id that a provider assigned, in characters. */
const MAX_ID = 200;

/** Why an observation cannot be stored under its id, `undefined` when it can. */
export const invalidIdReason = (id: string): string | undefined =>
  id.length <= MAX_ID && neutralText(id) === id
    ? undefined
    : "its id is too long, or has characters that no text has";

/** Archive row of an observation. */
export const observationRow = (
  { feed, symbol, at, id, record }: Observation,
  provenance: Provenance,
): ArchiveRow => ({
  kind: archiveKindOf(feed),
  at,
  id: `${symbol} ${id}`,
  subject: symbol,
  body: { ...provenance, record } satisfies ObservationBody,
});

/** Subject of a quarantined observation; by feed, so that each feed of a symbol is read alone. */
export const rejectedSubject = ({ feed, symbol }: Pick<Rejected, "feed" | "symbol">): string =>
  `${symbol} ${feed}`;

/** Archive row of a quarantined observation. */
export const rejectedRow = (rejected: Rejected, provenance: Provenance): ArchiveRow => {
  const { feed, symbol, at, id, reason } = rejected;
  return {
    kind: REJECTED_KIND,
    at: plausible(at, provenance.observedAt),
    id: `${provenance.provider} ${feed} ${symbol} ${neutralText(id.slice(0, MAX_ID))}`,
    subject: rejectedSubject(rejected),
    body: {
      ...provenance,
      feed,
      symbol,
      reason,
    } satisfies RejectedBody,
  };
};

/** The instant itself, or the day of arrival where it is implausible: the archive has a partition
 *  for each month. */
const plausible = (at: number, observedAt: number): number =>
  at <= observedAt && at > observedAt - OLDEST_MS ? at : observedAt - (observedAt % DAY_MS);
