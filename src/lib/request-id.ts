import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

/** Format of a request id that a caller may choose. */
const CALLER_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Storage of the id of the current request. */
const requests = new AsyncLocalStorage<string>();

/** The caller's request id if it is well formed, otherwise a new UUID. */
export function requestIdFrom(given: string | readonly string[] | undefined): string {
  return typeof given === "string" && CALLER_ID.test(given) ? given : randomUUID();
}

/** Runs a handler, during which `currentRequestId` returns the request id. */
export function runWithRequestId<T>(requestId: string, handle: () => T): T {
  return requests.run(requestId, handle);
}

/** Id of the current request; `undefined` outside a request. */
export const currentRequestId = (): string | undefined => requests.getStore();
