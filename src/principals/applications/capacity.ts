import { randomInt } from "node:crypto";
import { Problem } from "../../lib/problem.ts";
import { networkOf } from "../../limits/address-key.ts";
import { reserved } from "../../limits/admission.ts";
import { storageClasses } from "../../limits/classes.ts";
import { collection, type WriteOptions } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";

/** Kinds of records whose number is limited, each by the class `intake`. */
type SlotKind = "application" | "queue-token" | "inquiry";

const MOST = storageClasses.intake;

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
  /** Hashes the address of a network, because the store contains no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
}

/**
 * Takes a random free slot. The number of slots limits the number of records without a total count.
 * When two thirds of the slots are taken, one caller in 650 finds no free slot in `MAX_ATTEMPTS`
 * attempts.
 *
 * The last fifth of the slots is reserved for networks that have none, which get it when the others
 * seem to be taken.
 *
 * @param ip Network address of the caller; `undefined` if unknown, in which case the slot counts
 * toward no network.
 * @param placing The write options of the record, so that record and slot expire at the same time.
 * @returns The slot.
 * @throws {Problem} `rate_limited` if the network has used up its share, or no slot was free.
 */
export async function takeIntakeSlot(
  tx: Transaction,
  { hashAddress }: IntakeSlotOptions,
  { kind, ip, placing }: { kind: SlotKind; ip: string | undefined; placing: WriteOptions },
): Promise<string> {
  const groups = ip === undefined ? [] : [networkSlotsGroup(kind, hashAddress(networkOf(ip)))];
  const [group] = groups;
  const limit = MOST.network;
  const held = group === undefined ? [] : await tx.list(intakeSlots, { group, limit });
  if (held.length >= limit)
    throw capacityExceeded("Too many applications or inquiries from your network are pending.");
  const unreserved = MOST.total - reserved(MOST.total);
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const isFromReserve = held.length === 0 && tries >= MAX_ATTEMPTS / 2;
    const slot = isFromReserve ? randomInt(unreserved, MOST.total) : randomInt(unreserved);
    const seat = `${kind}:${slot}`;
    if ((await tx.get(intakeSlots, seat)) !== undefined) continue;
    const placed = { ...placing, groups: [...(placing.groups ?? []), ...groups] };
    tx.insert(intakeSlots, { key: seat, value: true, ...placed });
    return seat;
  }
  throw capacityExceeded("Too many applications or inquiries are pending.");
}

const capacityExceeded = (detail: string): Problem =>
  new Problem("rate_limited", {
    detail,
    next: "Try again later.",
    headers: { "Retry-After": String(FULL_RETRY_SECONDS) },
  });
