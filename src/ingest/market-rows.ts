import { DAY_MS } from "../lib/day.ts";
import { FEEDS, type Feed } from "../market/records.ts";
import { neutralizeText } from "../outbound/neutral-text.ts";
import type { Observation, RejectedObservation } from "../sources/live/provider.ts";
import type { ReceivedObservation } from "../sources/live/record-book.ts";
import type { ArchiveRow } from "../store/port/archive.ts";

/** Kind of the archive rows of a feed. */
export const archiveKindOf = (feed: Feed): string => `market-${feed}`;

/** Feeds by the kinds of their archive rows. */
const feedsByKind: ReadonlyMap<string, Feed> = new Map(
  FEEDS.map((feed) => [archiveKindOf(feed), feed]),
);

/** Kind of the archive rows of quarantined observations. */
export const REJECTED_ARCHIVE_KIND = "market-rejected";

/** Maximum age of an observation at its arrival, in milliseconds. */
const OLDEST_MS = 10 * 365 * DAY_MS;

/** Retention of messages, prints and quarantined observations, in milliseconds: they are numerous,
 *  and no score looks back further. */
const RETENTION_MS = 400 * DAY_MS;

/** Retention in milliseconds by kind of row; rows of other kinds are kept forever. */
export const MARKET_ROW_RETENTION_MS: Readonly<Record<string, number>> = {
  [archiveKindOf("mentions")]: RETENTION_MS,
  [archiveKindOf("prints")]: RETENTION_MS,
  [REJECTED_ARCHIVE_KIND]: RETENTION_MS,
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
export interface RejectedBody
  extends Provenance,
    Pick<RejectedObservation, "feed" | "symbol" | "reason"> {}

/** Maximum length of an id that a provider assigned, in characters. */
const MAX_ID = 200;

/** Why an observation cannot be stored under its id; `undefined` if it can. */
export const invalidIdReason = (id: string): string | undefined =>
  id.length <= MAX_ID && neutralizeText(id) === id
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

/** The observation of a row that `observationRow` has formed. */
export function observationOf({ kind, at, id, subject = "", body }: ArchiveRow) {
  const { provider, observedAt, record } = body as ObservationBody;
  return {
    feed: feedsByKind.get(kind),
    symbol: subject,
    at,
    id: id.slice(subject.length + 1),
    provider,
    observedAt,
    record,
  } as ReceivedObservation;
}

/**
 * Archive subject of a quarantined observation. It includes the feed, so that the feeds of a symbol
 * can be read separately.
 */
export const rejectedSubject = ({
  feed,
  symbol,
}: Pick<RejectedObservation, "feed" | "symbol">): string => `${symbol} ${feed}`;

/** Archive row of a quarantined observation. */
export const rejectedRow = (rejected: RejectedObservation, provenance: Provenance): ArchiveRow => {
  const { feed, symbol, at, id, reason } = rejected;
  return {
    kind: REJECTED_ARCHIVE_KIND,
    at: plausible(at, provenance.observedAt),
    id: `${provenance.provider} ${feed} ${symbol} ${neutralizeText(id.slice(0, MAX_ID))}`,
    subject: rejectedSubject(rejected),
    body: {
      ...provenance,
      feed,
      symbol,
      reason,
    } satisfies RejectedBody,
  };
};

/**
 * Returns the instant, or the start of the day of arrival if the instant is implausible. Each month
 * with rows has its own partition in the archive, so implausible instants would create useless
 * partitions.
 */
const plausible = (at: number, observedAt: number): number =>
  at <= observedAt && at > observedAt - OLDEST_MS ? at : observedAt - (observedAt % DAY_MS);
