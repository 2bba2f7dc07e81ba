import { randomInt } from "node:crypto";
import { widestNetwork } from "../limits/address-key.ts";
import { leftToGetMore, type Whole } from "../limits/share.ts";
import { Problem } from "../problem.ts";
import { insert } from "../store/port/operations.ts";
import { collection, type Operation, type Placing, type Records } from "../store/port/records.ts";

/** How many of each kind strangers can have kept at the same time. An embedded store has all of
 *  them in memory, at about 3 kB each. */
const capacities = { application: 20_000, "queue-token": 30_000, inquiry: 5_000 } as const;

/** What takes a seat. */
type SlotKind = keyof typeof capacities;

/** A network (/32 of IPv6, /24 of IPv4) gets at most this part of the seats of a kind. */
const NETWORK_PART = 1 / 10;

/** Seats that are taken, by kind and number. */
export const slots = collection<true>("intake-seats");

/** Seats that are tried before all count as taken. */
const TRIES = 16;

/** When a caller may ask again who found no seat, in seconds. */
const FULL_RETRY_SECONDS = 3600;

/** Group of the seats of one kind that a network has. @param network Its hash. */
export const seatsOf = (kind: SlotKind, network: string): string => `seats:${kind}:${network}`;

/** What seats are taken with. */
export interface SeatOptions {
  readonly records: Records;
  /** Networks are kept as hashes alone. */
  readonly hashAddress: (address: string) => string;
}

/**
 * A seat, chosen by chance, and the step that takes it, which does not hold when somebody has it.
 * So no more is kept than there are seats, and nobody has to count all or to wait for others: while two
 * thirds are taken, one caller in 650 finds none in `TRIES` tries.
 *
 * The more seats the caller's network has, the fewer it can choose from, and the last ones are for
 * networks that have few (`shareOf`): nobody who holds some networks takes all.
 *
 * @param ip Network address of the caller; `undefined`: not known, and no network is counted.
 * @param placing As that of what takes the seat, so that both go at the same time.
 * @throws {Problem} `rate_limited` when the network has had its share.
 */
export async function slotFor(
  { records, hashAddress }: SeatOptions,
  { kind, ip, placing }: { kind: SlotKind; ip: string | undefined; placing: Placing },
): Promise<{ readonly seat: string; readonly step: Operation }> {
  const total = capacities[kind];
  const groups = ip === undefined ? [] : [seatsOf(kind, hashAddress(widestNetwork(ip)))];
  const [group] = groups;
  const most = total * NETWORK_PART;
  const held = group === undefined ? [] : await records.list(slots, { group, limit: most });
  const seat = `${kind}:${randomInt(seatsToChooseFrom({ total, most }, held.length))}`;
  const placed = { ...placing, groups: [...(placing.groups ?? []), ...groups] };
  return { seat, step: insert(slots, { key: seat, value: true, ...placed }) };
}

/** @throws {Problem} `rate_limited` when there are none. */
function seatsToChooseFrom(whole: Whole, held: number): number {
  if (held >= whole.most) throw full("Too many of your network are waiting to be answered.");
  return Math.floor(whole.total - leftToGetMore(whole, held));
}

/**
 * Commits something that takes seats.
 *
 * @param attempt Makes the steps anew for every try.
 * @returns What the try gave that held.
 * @throws {Problem} `rate_limited` when no seat was found.
 */
export async function commitWithinCapacity<T extends { readonly steps: readonly Operation[] }>(
  records: Records,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const made = await attempt();
    if (await records.commit(made.steps)) return made;
  }
  throw full("Too many others are waiting to be answered.");
}

const full = (detail: string): Problem =>
  new Problem("rate_limited", {
    detail,
    next: "Try again later.",
    headers: { "Retry-After": String(FULL_RETRY_SECONDS) },
  });
