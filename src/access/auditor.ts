import { AsyncLocalStorage } from "node:async_hooks";
import { currentRequestId } from "../lib/request-id.ts";
import { type AuditEntry, auditOperations } from "../store/audit-entry.ts";
import type { Operation } from "../store/port/records.ts";

/** Dependencies of `createAuditor`. */
export interface AuditorOptions {
  /** Hashes a network address. Equal addresses have equal hashes. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
}

/**
 * Creates the operations that write an audit row with the caller's hashed address and the request
 * id. They belong in the commit of the audited change.
 */
export type Auditor = (
  entry: Pick<AuditEntry, "action" | "actor" | "target" | "detail">,
) => readonly Operation[];

/** Network address of the caller, in the asynchronous context of a request. */
const addresses = new AsyncLocalStorage<string | undefined>();

/**
 * Runs a request handler in the context of a caller's network address; the address is `undefined`
 * when the caller has disconnected.
 */
export function withCallerAddress<T>(address: string | undefined, handle: () => T): T {
  return addresses.run(address, handle);
}

/** The network address of the caller of the current request; `undefined` if unknown. */
export function callerAddress(): string | undefined {
  return addresses.getStore();
}

/** Creates the auditor of the current process. */
export function createAuditor({ hashAddress, now }: AuditorOptions): Auditor {
  return (entry) => {
    const address = callerAddress();
    const origin = address === undefined ? {} : { addressHash: hashAddress(address) };
    const requestId = currentRequestId();
    const request = requestId === undefined ? {} : { requestId };
    return auditOperations({ ...entry, ...origin, ...request }, now().getTime());
  };
}
