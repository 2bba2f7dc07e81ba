import { hash } from "node:crypto";
import { Problem } from "../../problem.ts";
import { insert } from "../../store/port/operations.ts";
import { collection, type Operation, type Records } from "../../store/port/records.ts";
import { type Owner, ownerGroup } from "../alert.ts";

/** How long a request can be repeated under its idempotency key, in milliseconds. */
const KEPT_MS = 24 * 3_600_000;

/** A request that was made under an idempotency key. */
interface Request {
  /** Hash of its input. */
  readonly input: string;
  readonly alertId: string;
}

/** Requests by owner and key. They are deleted with the alert: repeating a request whose alert was
 *  deleted registers a new alert, because a deleted one would be of no use. */
const requests = collection<Request>("alert-requests");

/** A request with an idempotency key (draft-ietf-httpapi-idempotency-key-header). */
export interface IdempotentRequest {
  readonly owner: Owner;
  readonly key: string;
  /** The input of the request; JSON. */
  readonly input: unknown;
}

/**
 * The id of the alert that an earlier request under the same key registered.
 *
 * @throws {Problem} `idempotency_key_reused` when the input was different.
 */
export async function findEarlierAlert(
  records: Records,
  request: IdempotentRequest,
): Promise<string | undefined> {
  const earlier = await records.get(requests, keyOf(request));
  if (earlier === undefined) return undefined;
  if (earlier.value.input === hashOf(request.input)) return earlier.value.alertId;
  throw new Problem("idempotency_key_reused", {
    detail: "The idempotency key was used for another request in the last 24 hours.",
    next: "Take a new key, or repeat the request as it was.",
  });
}

/** Stores a request, unless there is one under the same key. */
export function rememberRequest(
  request: IdempotentRequest,
  { alertId, groups }: { readonly alertId: string; readonly groups: readonly string[] },
): Operation {
  const value = { input: hashOf(request.input), alertId };
  return insert(requests, { key: keyOf(request), value, groups, ttlMs: KEPT_MS });
}

/** Includes the client: two clients of one person can use the same key. */
function keyOf({ owner, key }: IdempotentRequest): string {
  const { clientId } = owner;
  const name = clientId === undefined ? key : JSON.stringify([clientId, key]);
  return `${ownerGroup(owner)}:${hash("sha256", name, "base64url")}`;
}

const hashOf = (input: unknown): string => hash("sha256", JSON.stringify(input), "base64url");
