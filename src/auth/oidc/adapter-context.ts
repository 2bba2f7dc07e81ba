import type { Adapter } from "oidc-provider";
import type { Records } from "../../store/port/records.ts";
import type { AgentRoom } from "../agents/unclaimed-capacity.ts";
import type { Auditor } from "../auditor.ts";

/** What the adapters of all models share. */
export interface AdapterContext {
  readonly records: Records;
  readonly audit: Auditor;
  /** The clock by which a life is reckoned that began at another time. */
  readonly now: () => Date;
}

/** What the adapter of clients needs besides. */
export interface RegistrationContext extends AdapterContext {
  readonly room: AgentRoom;
  /** Hides a network address, so that equal ones can still be told. */
  readonly hashAddress: (address: string) => string;
}

/** What a model does in a way of its own. */
export type ModelAdapter = Pick<Adapter, "upsert" | "find" | "destroy">;

/**
 * A copy of a JSON value, so that the library may change what it is handed. A third of the cost of
 * `structuredClone`, which knows more than JSON.
 */
export function copied<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copied) as T;
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, copied(member)]);
  return Object.fromEntries(members) as T;
}
