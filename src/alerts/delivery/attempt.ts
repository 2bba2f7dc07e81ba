import { readableBody } from "../../answers/event.ts";
import { isEntitled } from "../../auth/entitlement.ts";
import type { Scope } from "../../auth/scopes.ts";
import { countInOrder } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/limits.ts";
import { OutboundError } from "../../outbound/guarded-fetch.ts";
import type { Vault } from "../../store/keys/vault.ts";
import { removeAt, replace, unchanged } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import { type Alert, alerts, type Owner, type StoredAlert, type Way } from "../alert.ts";
import { CHALLENGE_TYPE, isCurrentChallenge } from "./challenge.ts";
import { deliveries, type StoredDelivery } from "./delivery.ts";
import type { AttemptOutcome } from "./endpoint-queues.ts";
import { attemptError, type RecordAttemptOptions, recordAttempt } from "./record-attempt.ts";
import type { Sender, WebhookResponse } from "./sender.ts";
import { type PrivateKeyJwk, signatureHeaders, signingSecrets } from "./signing.ts";

/** What carrying works with. */
export interface AttemptOptions extends RecordAttemptOptions {
  readonly sender: Pick<Sender, "send">;
  /** The one that sealed the signing secrets. */
  readonly vault: Vault;
  /** The service's own signing keys, the newest first. */
  readonly keys: () => readonly PrivateKeyJwk[];
  /** The scopes that whoever made an alert holds now. */
  readonly scopesOf: (owner: Owner) => Promise<ReadonlySet<Scope>>;
  readonly limits: Pick<Limits, "count">;
  /** Wall clock. */
  readonly now: () => Date;
  /** Aborted when nothing may be kept any more. */
  readonly signal: AbortSignal;
}

type Webhook = Extract<Way, { by: "webhook" }>;

/** A delivery as it leaves. */
type Outgoing = Pick<StoredDelivery, "key" | "value">;

/** Carries a delivery that this process has taken: one attempt, or none when it must not be sent
 *  now or ever. */
export async function attemptDelivery(
  delivery: StoredDelivery,
  options: AttemptOptions,
): Promise<AttemptOutcome> {
  const { records, scopesOf } = options;
  const alert = await records.get(alerts, delivery.value.alertId);
  const held = alert && (await scopesOf(alert.value.owner));
  if (!held || !isEntitled(held) || alert.value.way.by !== "webhook") {
    await records.commit([removeAt(deliveries, delivery)]);
    return "none";
  }
  const webhook = alert.value.way;
  const obstacle = await obstacleTo(delivery, { alert, webhook }, options);
  if (obstacle !== undefined) {
    await records.commit(obstacle);
    return "none";
  }
  const at = options.now().getTime();
  const answer = await send(readableAt(webhook, delivery, held), webhook, options);
  if (options.signal.aborted) return "none";
  const tried = { delivery, alert, at, answer };
  await recordAttempt(tried, options);
  return attemptError(tried) === "none" ? "success" : "failure";
}

/** The delivery without what the owner, or whoever named the address, may not read. */
function readableAt(
  { scopes }: Webhook,
  { key, value }: StoredDelivery,
  held: ReadonlySet<Scope>,
): Outgoing {
  const told = scopes === undefined ? held : new Set(scopes.filter((scope) => held.has(scope)));
  return { key, value: { ...value, body: readableBody(value.body, told) } };
}

/** @returns What is done in place of sending; `undefined` when it can be sent. */
async function obstacleTo(
  delivery: StoredDelivery,
  { alert, webhook }: { readonly alert: StoredAlert; readonly webhook: Webhook },
  { limits }: AttemptOptions,
): Promise<readonly Operation[] | undefined> {
  if (delivery.value.type !== CHALLENGE_TYPE) {
    return isOpen(alert.value, webhook) ? undefined : heldBack(delivery, alert);
  }
  if (!isCurrentChallenge(delivery.value.body, webhook.state)) {
    return [removeAt(deliveries, delivery)];
  }
  const host = new URL(webhook.url).hostname.replace(/\.+$/, "");
  // Whoever names a host first must not keep it from others.
  const { accountId, kind, id } = alert.value.owner;
  const counted = await countInOrder(limits, [
    ["challenge-host", `${accountId ?? `${kind}:${id}`} ${host}`],
    ["challenge-host-all", host],
  ]);
  const exceeded = counted.find(({ isExceeded }) => isExceeded);
  return exceeded && [later(delivery, exceeded.resetMs)];
}

const isOpen = ({ isPaused }: Alert, { state }: Webhook): boolean =>
  !isPaused && state.is === "active";

/** Only while the alert stays as it is: what makes it active releases what is held by then. */
function heldBack(delivery: StoredDelivery, alert: StoredAlert): readonly Operation[] {
  return [later(delivery, null), unchanged(alerts, alert)];
}

function later(delivery: StoredDelivery, dueInMs: number | null): Operation {
  return replace(deliveries, delivery, { value: delivery.value, dueInMs });
}

/** @returns `undefined` when no answer came. */
async function send(
  { key, value }: Outgoing,
  { url, secrets }: Webhook,
  { sender, vault, keys, now }: AttemptOptions,
): Promise<WebhookResponse | undefined> {
  const { alertId, body } = value;
  const at = now().getTime();
  const signing = signingSecrets(secrets, { alertId, vault }, at);
  const headers = signatureHeaders({ id: key, at, body, secrets: signing, keys: keys() });
  try {
    return await sender.send({ url, headers: { ...headers }, body });
  } catch (error) {
    if (error instanceof OutboundError) return undefined;
    throw error;
  }
}
