import { AsyncLocalStorage } from "node:async_hooks";
import { currentRequestId } from "../lib/request-id.ts";
import { type AuditEntry, writeAuditEntry } from "../store/audit-entry.ts";
import type { Transaction } from "../store/transact.ts";

/** Dependencies of `createAuditor`. */
interface AuditorOptions {
  /** Hashes a network address. Equal addresses have equal hashes. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
}

/** An audited action; the auditor adds the caller's hashed address and the request id. */
type AuditedAction = Pick<AuditEntry, "action" | "actor" | "target" | "detail">;

/** Writes an audit row in the transaction of the audited change. */
export type Auditor = (tx: Transaction, entry: AuditedAction) => void;

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
  return (tx, entry) => {
    const address = callerAddress();
    const origin = address === undefined ? {} : { addressHash: hashAddress(address) };
    const requestId = currentRequestId();
    const request = requestId === undefined ? {} : { requestId };
    writeAuditEntry(tx, { ...entry, ...origin, ...request }, now().getTime());
  };
}
