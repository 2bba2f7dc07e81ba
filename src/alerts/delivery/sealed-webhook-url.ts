import { createHmac, hash } from "node:crypto";
import type { Keyring } from "../../keys/keyring.ts";
import { createKeyringVault } from "../../keys/keyring-vault.ts";
import type { Vault } from "../../keys/vault.ts";
import { readRecordPages } from "../../store/port/read-all.ts";
import type { Store } from "../../store/port/store.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import {
  type Alert,
  alerts,
  type OwnerIdentity,
  ownerKey,
  type PlainWebhook,
  type SealedWebhook,
  type Webhook,
} from "../alert.ts";

/** The alert of a webhook. */
export interface WebhookOf {
  readonly alertId: string;
  readonly owner: OwnerIdentity;
}

/** Keys with which URLs of webhooks are sealed. */
export interface WebhookUrlKeys {
  readonly vault: Vault;
  /** 32-byte key of `SealedWebhook.endpoint`; it must never change. */
  readonly endpointKey: Uint8Array;
}

/** The keys of the service for the URLs of webhooks. */
export const webhookUrlKeysOf = ({
  keyring,
  deriveKey,
}: {
  readonly keyring: Keyring;
  readonly deriveKey: (purpose: string) => Uint8Array;
}): WebhookUrlKeys => ({
  vault: createKeyringVault(keyring),
  endpointKey: deriveKey("webhook-endpoint"),
});

/** Encryption context to which the URL of an alert's webhook is bound. */
const contextOf = (alertId: string): string => `alert-url:${alertId}`;

/** Seals the URL of a webhook, which often contains a secret. @param url A normalized URL. */
export const sealWebhookUrl = (
  url: string,
  { alertId, owner }: WebhookOf,
  { vault, endpointKey }: WebhookUrlKeys,
): Pick<SealedWebhook, "sealedUrl" | "endpoint"> => ({
  sealedUrl: vault.seal(url, contextOf(alertId)),
  endpoint: createHmac("sha256", endpointKey).update(identityOf(owner, url)).digest("base64url"),
});

/** The URL of an owner as text, which is hashed. */
const identityOf = (owner: OwnerIdentity, url: string): string =>
  JSON.stringify([ownerKey(owner), url]);

/** The webhook with its URL sealed, unless it is already. */
export function sealedWebhook(
  webhook: Webhook,
  of: WebhookOf,
  keys: WebhookUrlKeys,
): SealedWebhook {
  if (!isPlain(webhook)) return webhook;
  const { url: _, ...settings } = webhook;
  return { ...settings, ...sealWebhookUrl(plainUrl(webhook), of, keys) };
}

const isPlain = (webhook: Webhook): webhook is PlainWebhook => "url" in webhook;

const plainUrl = ({ url }: PlainWebhook): string => new URL(url).href;

/**
 * Hash of owner and URL, by which webhooks are compared and deliveries are queued. That of a URL in
 * plain text is the one by which earlier versions queued.
 */
export const webhookEndpoint = (owner: OwnerIdentity, webhook: Webhook): string =>
  isPlain(webhook)
    ? hash("sha256", identityOf(owner, plainUrl(webhook)), "base64url")
    : webhook.endpoint;

/**
 * Opens the URL of a webhook, sealed or in plain text. Every reader of a URL calls this.
 *
 * @throws {Error} If the key that sealed the URL no longer exists.
 */
export const openWebhookUrl = (vault: Vault, alertId: string, webhook: Webhook): string =>
  isPlain(webhook) ? plainUrl(webhook) : vault.open(webhook.sealedUrl, contextOf(alertId));

/**
 * Seals the URLs that an earlier version stored in plain text. An embedded store is then written
 * anew, because SQLite leaves replaced rows in its file. To be called before the store is used.
 */
export async function sealPlainWebhookUrls(store: Store, keys: WebhookUrlKeys): Promise<void> {
  let sealed = 0;
  for await (const page of readRecordPages(store.records, alerts)) {
    for (const { key, value } of page) {
      if (!hasPlainUrl(value)) continue;
      // Each alert on its own: another process that starts may be sealing it too.
      await transact(store.records, (tx) => sealAlert(tx, key, keys));
      sealed += 1;
    }
  }
  if (sealed > 0 && store.engine === "embedded") await store.load(store.identity, store.dump());
}

const hasPlainUrl = ({ way }: Alert): boolean => way.by === "webhook" && isPlain(way);

async function sealAlert(tx: Transaction, alertId: string, keys: WebhookUrlKeys): Promise<void> {
  const alert = await tx.get(alerts, alertId);
  if (alert === undefined) return;
  const { owner, way } = alert.value;
  if (way.by !== "webhook" || !isPlain(way)) return;
  const value = { ...alert.value, way: sealedWebhook(way, { alertId, owner }, keys) };
  tx.update(alerts, alert, { value });
}
