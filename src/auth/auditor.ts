import { AsyncLocalStorage } from "node:async_hooks";
import { type AuditEntry, audited } from "../store/audit/entry.ts";
import type { Operation } from "../store/port/records.ts";
import { currentRequestId } from "../telemetry/request-id.ts";

/** What the audit of the authorization server needs. */
export interface AuditorOptions {
  /** Hides a network address, so that equal ones can still be told. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
}

/** The steps that record an entry, with the caller's address and the name of the request, together with the rest of a commit. */
export type Auditor = (
  entry: Pick<AuditEntry, "action" | "actor" | "target" | "detail">,
) => readonly Operation[];

/** Network addresses of the callers whose requests are being handled. */
const addresses = new AsyncLocalStorage<string | undefined>();

/** Handles a request in the name of a network address; `undefined` when the caller has gone. */
export function calledFrom<T>(address: string | undefined, handle: () => T): T {
  return addresses.run(address, handle);
}

/** The network address of the caller whose request is being handled; `undefined`: not known. */
export function callerAddress(): string | undefined {
  return addresses.getStore();
}

/** Creates the auditor. */
export function createAuditor({ hashAddress, now }: AuditorOptions): Auditor {
  return (entry) => {
    const address = callerAddress();
    const origin = address === undefined ? {} : { addressHash: hashAddress(address) };
    const requestId = currentRequestId();
    const request = requestId === undefined ? {} : { requestId };
    return audited({ ...entry, ...origin, ...request }, now().getTime());
  };
}
