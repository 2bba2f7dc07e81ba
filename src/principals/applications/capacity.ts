import { randomInt } from "node:crypto";
import { Problem } from "../../lib/problem.ts";
import { widestNetwork } from "../../limits/address-key.ts";
import { type SharedCapacity, unusedCapacityAtShare } from "../../limits/share.ts";
import { collection, type Records, type WriteOptions } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";

/**
 * Maximum number of stored records that anonymous callers can create, by kind of record. A record
 * takes about 3 kB.
 */
const capacities = { application: 20_000, "queue-token": 30_000, inquiry: 5_000 } as const;

/** Kinds of records whose number is limited. */
type SlotKind = keyof typeof capacities;

/** Maximum share of a kind's slots that one network can take (/32 for IPv6, /24 for IPv4). */
const MAX_NETWORK_SHARE = 1 / 10;

/** Occupied slots. The key consists of the kind of record and the number of the slot. */
export const intakeSlots = collection<true>("intake-seats");

/** Number of slots tried before a kind is treated as full. */
const MAX_ATTEMPTS = 16;

/** `Retry-After` in seconds when no slot is free. */
const FULL_RETRY_SECONDS = 3600;

/** Group of the slots of one kind that a network occupies. @param network Hash of the network. */
export const networkSlotsGroup = (kind: SlotKind, network: string): string =>
  `seats:${kind}:${network}`;

/** Dependencies of `takeIntakeSlot`. */
export interface IntakeSlotOptions {
  readonly records: Records;
  /** Hashes the address of a network, because the store contains no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
}

/**
 * Takes a random free slot. The number of slots limits the number of records without a total count.
 * When two thirds of the slots are taken, one caller in 650 finds no free slot in `MAX_ATTEMPTS`
 * attempts.
 *
 * The more slots the caller's network has taken, the fewer the caller can choose from. The last
 * slots are reserved for networks that have taken few (`partyShare`), so that a few networks cannot
 * take all of them. The share need not be exact, so what the network has taken is read outside of
 * the transaction.
 *
 * @param ip Network address of the caller; `undefined` if unknown, in which case the slot counts
 * toward no network.
 * @param placing The write options of the record, so that record and slot expire at the same time.
 * @returns The slot.
 * @throws {Problem} `rate_limited` if the network has used up its share, or no slot was free.
 */
export async function takeIntakeSlot(
  tx: Transaction,
  { records, hashAddress }: IntakeSlotOptions,
  { kind, ip, placing }: { kind: SlotKind; ip: string | undefined; placing: WriteOptions },
): Promise<string> {
  const total = capacities[kind];
  const groups = ip === undefined ? [] : [networkSlotsGroup(kind, hashAddress(widestNetwork(ip)))];
  const [group] = groups;
  const most = total * MAX_NETWORK_SHARE;
  const held = group === undefined ? [] : await records.list(intakeSlots, { group, limit: most });
  const available = availableSlots({ total, most }, held.length);
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const seat = `${kind}:${randomInt(available)}`;
    if ((await tx.get(intakeSlots, seat)) !== undefined) continue;
    const placed = { ...placing, groups: [...(placing.groups ?? []), ...groups] };
    tx.insert(intakeSlots, { key: seat, value: true, ...placed });
    return seat;
  }
  throw capacityExceeded("Too many applications or inquiries are pending.");
}

/**
 * The number of slots that a network can choose from, given how many it has taken.
 *
 * @throws {Problem} `rate_limited` if the network has used up its share.
 */
function availableSlots(whole: SharedCapacity, held: number): number {
  if (held >= whole.most)
    throw capacityExceeded("Too many applications or inquiries from your network are pending.");
  return Math.floor(whole.total - unusedCapacityAtShare(whole, held));
}

const capacityExceeded = (detail: string): Problem =>
  new Problem("rate_limited", {
    detail,
    next: "Try again later.",
    headers: { "Retry-After": String(FULL_RETRY_SECONDS) },
  });
