import { randomInt } from "node:crypto";
import { widestNetwork } from "../limits/address-key.ts";
import { type SharedCapacity, unusedAtShare } from "../limits/share.ts";
import { Problem } from "../problem.ts";
import { insert } from "../store/port/operations.ts";
import {
  collection,
  type Operation,
  type Records,
  type WriteOptions,
} from "../store/port/records.ts";

/** Maximum number of records of each kind that anonymous callers can create; about 3 kB each. */
const capacities = { application: 20_000, "queue-token": 30_000, inquiry: 5_000 } as const;

/** Kinds with a capacity. */
type SlotKind = keyof typeof capacities;

/** Maximum share of a kind's slots for one network (/32 of IPv6, /24 of IPv4). */
const MAX_NETWORK_SHARE = 1 / 10;

/** Occupied slots, by kind and number. */
export const slots = collection<true>("intake-seats");

/** Number of slots tried before a kind counts as full. */
const MAX_ATTEMPTS = 16;

/** `Retry-After` in seconds when no slot was free. */
const FULL_RETRY_SECONDS = 3600;

/** Group of a network's slots of one kind. @param network Hash of the network. */
export const networkSlotsGroup = (kind: SlotKind, network: string): string =>
  `seats:${kind}:${network}`;

/** Dependencies of the slots. */
export interface SlotOptions {
  readonly records: Records;
  /** Hashes a network, because the store holds no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
}

/**
 * Picks a random slot, with the step that takes it, which is rejected if the slot is occupied. The
 * number of slots bounds the records without a total count or a lock: at two thirds occupancy, one
 * caller in 650 finds none in `MAX_ATTEMPTS` attempts.
 *
 * The more slots the caller's network has, the fewer it can choose from; the last ones are reserved
 * for networks that have few (`shareOf`), so that a few networks cannot take all.
 *
 * @param ip Network address of the caller; `undefined` if unknown, and then counted for no network.
 * @param placing The same as for the record, so that both expire at the same time.
 * @throws {Problem} `rate_limited` if the network has used its share.
 */
export async function reserveSlot(
  { records, hashAddress }: SlotOptions,
  { kind, ip, placing }: { kind: SlotKind; ip: string | undefined; placing: WriteOptions },
): Promise<{ readonly seat: string; readonly step: Operation }> {
  const total = capacities[kind];
  const groups = ip === undefined ? [] : [networkSlotsGroup(kind, hashAddress(widestNetwork(ip)))];
  const [group] = groups;
  const most = total * MAX_NETWORK_SHARE;
  const held = group === undefined ? [] : await records.list(slots, { group, limit: most });
  const seat = `${kind}:${randomInt(availableSlots({ total, most }, held.length))}`;
  const placed = { ...placing, groups: [...(placing.groups ?? []), ...groups] };
  return { seat, step: insert(slots, { key: seat, value: true, ...placed }) };
}

/** The number of slots that a network can choose from. @throws {Problem} `rate_limited` if there
 *  are none. */
function availableSlots(whole: SharedCapacity, held: number): number {
  if (held >= whole.most)
    throw capacityExceeded("Too many applications or inquiries from your network are pending.");
  return Math.floor(whole.total - unusedAtShare(whole, held));
}

/**
 * Commits records that take slots.
 *
 * @param attempt Creates the steps of each attempt.
 * @returns The result of the successful attempt.
 * @throws {Problem} `rate_limited` if no slot was free.
 */
export async function commitWithinCapacity<T extends { readonly steps: readonly Operation[] }>(
  records: Records,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const made = await attempt();
    if (await records.commit(made.steps)) return made;
  }
  throw capacityExceeded("Too many applications or inquiries are pending.");
}

const capacityExceeded = (detail: string): Problem =>
  new Problem("rate_limited", {
    detail,
    next: "Try again later.",
    headers: { "Retry-After": String(FULL_RETRY_SECONDS) },
  });
