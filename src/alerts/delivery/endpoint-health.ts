import { insert, replace } from "../../store/port/operations.ts";
import { collection, type Operation, type Stored } from "../../store/port/records.ts";
import type { StoredAlert } from "../alert.ts";

/** How the webhook of an alert has done since it last took something. */
export interface EndpointHealth {
  /** When the first of the failures was, milliseconds since the epoch. */
  readonly failingSince: number;
  /** Attempts that failed since then. */
  readonly failures: number;
}

/** Webhooks that fail, by the id of their alert; the first success removes the record. */
export const endpointHealth = collection<EndpointHealth>("endpoint-health");

/** When a webhook is given up: so long without a success, in milliseconds, and so many failures. */
const GIVEN_UP = { afterMs: 5 * 86_400_000, failures: 20 };

/** What one more failure makes of the health of a webhook. @param now Milliseconds since the epoch. */
export function afterFailure(before: EndpointHealth | undefined, now: number): EndpointHealth {
  if (before === undefined) return { failingSince: now, failures: 1 };
  return { ...before, failures: before.failures + 1 };
}

/** The step that keeps the health of a webhook; it does not hold when another came before. */
export function writeHealth(
  { key, groups }: StoredAlert,
  before: Stored<EndpointHealth> | undefined,
  value: EndpointHealth,
): Operation {
  if (before === undefined) return insert(endpointHealth, { key, value, groups });
  return replace(endpointHealth, before, { value });
}

/** Whether a webhook is to be disabled. @param now Milliseconds since the epoch. */
export function isGivenUp({ failingSince, failures }: EndpointHealth, now: number): boolean {
  return failures >= GIVEN_UP.failures && now - failingSince >= GIVEN_UP.afterMs;
}
