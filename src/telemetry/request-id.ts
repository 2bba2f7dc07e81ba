import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

/** What a caller may call its request. */
const GIVEN = /^[A-Za-z0-9._-]{1,64}$/;

/** Ids of the requests that are being handled. */
const requests = new AsyncLocalStorage<string>();

/** The name of a request: the caller's own when it has the form of one, otherwise a new UUID. */
export function requestIdFrom(given: string | readonly string[] | undefined): string {
  return typeof given === "string" && GIVEN.test(given) ? given : randomUUID();
}

/** Handles a request under its name, which `currentRequestId` then finds. */
export function underRequestId<T>(requestId: string, handle: () => T): T {
  return requests.run(requestId, handle);
}

/** The request that is being handled; `undefined` outside of one. */
export const currentRequestId = (): string | undefined => requests.getStore();
