import { hash } from "node:crypto";
import { Problem } from "../../problem.ts";
import { insert } from "../../store/port/operations.ts";
import { collection, type Operation, type Records } from "../../store/port/records.ts";
import { type Owner, ownerGroup } from "../alert.ts";

/** How long a request can be repeated under its key, in milliseconds. */
const KEPT_MS = 24 * 3_600_000;

/** What was asked under a key, and what was made then. */
interface Request {
  /** Hash of the input. */
  readonly input: string;
  readonly alertId: string;
}

/** Requests by owner and key. They go with the alert: who repeats one whose alert was deleted gets
 *  another, since an answer about an alert that is no more would be of no use. */
const requests = collection<Request>("alert-requests");

/** A request that may come twice (draft-ietf-httpapi-idempotency-key-header). */
export interface IdempotentRequest {
  readonly owner: Owner;
  readonly key: string;
  /** What is asked; JSON. */
  readonly input: unknown;
}

/**
 * The alert that an earlier request under the same key made.
 *
 * @throws {Problem} `idempotency_key_reused` when something else was asked then.
 */
export async function findEarlierAlert(
  records: Pick<Records, "get">,
  repeatable: IdempotentRequest,
): Promise<string | undefined> {
  const earlier = await records.get(requests, keyOf(repeatable));
  if (earlier === undefined) return undefined;
  if (earlier.value.input === hashOf(repeatable.input)) return earlier.value.alertId;
  throw new Problem("idempotency_key_reused", {
    detail: "The idempotency key was used for another request in the last 24 hours.",
    next: "Take a new key, or repeat the request as it was.",
  });
}

/** The step that keeps a request; it does not hold when one under the same key is kept already. */
export function rememberRequest(
  repeatable: IdempotentRequest,
  { alertId, groups }: { readonly alertId: string; readonly groups: readonly string[] },
): Operation {
  const value = { input: hashOf(repeatable.input), alertId };
  return insert(requests, { key: keyOf(repeatable), value, groups, ttlMs: KEPT_MS });
}

/** Two clients of one person can use the same key. */
function keyOf({ owner, key }: IdempotentRequest): string {
  const { clientId } = owner;
  const name = clientId === undefined ? key : JSON.stringify([clientId, key]);
  return `${ownerGroup(owner)}:${hash("sha256", name, "base64url")}`;
}

const hashOf = (input: unknown): string => hash("sha256", JSON.stringify(input), "base64url");
