import { DAY_MS } from "../../lib/day.ts";
import { collection, type Stored } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * A webhook or channel is disabled after `afterMs` milliseconds without a success, if it has failed
 * at least `failures` times since its last success.
 */
const GIVE_UP_RULES = { afterMs: 5 * DAY_MS, failures: 20 };

/** Failures of a webhook or channel since its last success. */
export interface EndpointHealth {
  /** When the first failure since the last success occurred, in milliseconds since the epoch. */
  readonly failingSince: number;
  /** Number of failures since the last success. */
  readonly failures: number;
}

/**
 * Health of failing webhooks and channels, by the id of the alert or channel. A success deletes the
 * record.
 */
export const endpointHealthRecords = collection<EndpointHealth>("endpoint-health");

/** The health after one more failure. @param now Milliseconds since the epoch. */
export function endpointHealthAfterFailure(
  before: EndpointHealth | undefined,
  now: number,
): EndpointHealth {
  if (before === undefined) return { failingSince: now, failures: 1 };
  return { ...before, failures: before.failures + 1 };
}

/** Stores the health of an endpoint. */
export function writeEndpointHealth(
  tx: Transaction,
  { id: key, groups }: Pick<Endpoint, "id" | "groups">,
  before: Stored<EndpointHealth> | undefined,
  value: EndpointHealth,
): void {
  if (before === undefined) tx.insert(endpointHealthRecords, { key, value, groups });
  else tx.update(endpointHealthRecords, before, { value });
}

/**
 * Whether an endpoint has failed long enough and often enough to be disabled.
 *
 * @param now Milliseconds since the epoch.
 */
export function hasFailedTooLong({ failingSince, failures }: EndpointHealth, now: number): boolean {
  return failures >= GIVE_UP_RULES.failures && now - failingSince >= GIVE_UP_RULES.afterMs;
}
