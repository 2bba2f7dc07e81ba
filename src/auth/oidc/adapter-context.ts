import type { Adapter, AdapterPayload } from "oidc-provider";
import type { Auditor } from "../../access/auditor.ts";
import type { Limits } from "../../limits/limits.ts";
import type { UnclaimedCapacity } from "../../principals/agents/unclaimed-capacity.ts";
import type { Collection, Records } from "../../store/port/records.ts";

/** Dependencies shared by the adapters of all models. */
export interface AdapterContext {
  readonly records: Records;
  readonly audit: Auditor;
  /** Wall clock. */
  readonly now: () => Date;
}

/** Dependencies of the adapter of clients. */
export interface ClientAdapterContext extends AdapterContext {
  readonly capacity: UnclaimedCapacity;
  /** Hashes a network address. Equal addresses have equal hashes. */
  readonly hashAddress: (address: string) => string;
  readonly limits: Limits;
}

/** The adapter methods that a model can override. */
export type ModelAdapter = Pick<Adapter, "upsert" | "find" | "destroy">;

/** A reference to the record of an oidc-provider model. */
export interface ModelRecordRef {
  readonly model: string;
  readonly collection: Collection<AdapterPayload>;
  readonly key: string;
  /** Group of the refresh token's family (`refreshTokenFamily`); absent for other models. */
  readonly family?: string | undefined;
}

/** A record that is about to be written. */
export interface NewModelRecord extends ModelRecordRef {
  readonly value: AdapterPayload;
  readonly ttlMs?: number;
}

/**
 * Copies a JSON value, so that oidc-provider may modify the copy. Takes a third of the time of
 * `structuredClone`, which supports more types than JSON.
 */
export function copyJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyJson) as T;
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, copyJson(member)]);
  return Object.fromEntries(members) as T;
}
