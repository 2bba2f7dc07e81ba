import { hash } from "node:crypto";
import { Problem } from "../../lib/problem.ts";
import { collection, type RecordReader } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import { type AlertOwner, ownerGroup } from "../alert.ts";

/** How long an idempotency key is remembered, in milliseconds. */
const IDEMPOTENCY_RETENTION_MS = 24 * 3_600_000;

/** A stored request that used an idempotency key. */
interface Request {
  /** SHA-256 of the request's input, base64url. */
  readonly input: string;
  readonly alertId: string;
}

/**
 * Requests by owner and idempotency key. A request is deleted with its alert, so that repeating the
 * request registers a new alert instead of returning a deleted one.
 */
const requests = collection<Request>("alert-requests", { ttlMs: IDEMPOTENCY_RETENTION_MS });

/** A request with an idempotency key (draft-ietf-httpapi-idempotency-key-header). */
interface IdempotentRequest {
  readonly owner: AlertOwner;
  readonly key: string;
  /** The input of the request, as a JSON value. */
  readonly input: unknown;
}

/**
 * The id of the alert that an earlier request with the same key registered; `undefined` if there
 * was none.
 *
 * @throws {Problem} `idempotency_key_reused` when the earlier request had different input.
 */
export async function findAlertByIdempotencyKey(
  records: RecordReader,
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

/** Stores a request that `findAlertByIdempotencyKey` did not find. */
export function storeIdempotentRequest(
  tx: Transaction,
  request: IdempotentRequest,
  { alertId, groups }: { readonly alertId: string; readonly groups: readonly string[] },
): void {
  const value = { input: hashOf(request.input), alertId };
  tx.insert(requests, { key: keyOf(request), value, groups });
}

/**
 * Record key of a request. It includes the OAuth client, so that two clients of one person can use
 * the same idempotency key.
 */
function keyOf({ owner, key }: IdempotentRequest): string {
  const { clientId } = owner;
  const name = clientId === undefined ? key : JSON.stringify([clientId, key]);
  return `${ownerGroup(owner)}:${hash("sha256", name, "base64url")}`;
}

const hashOf = (input: unknown): string => hash("sha256", JSON.stringify(input), "base64url");
