import { createHmac } from "node:crypto";
import type { Keyring } from "../../store/keys/keyring.ts";
import { createKeyringVault } from "../../store/keys/keyring-vault.ts";
import type { Vault } from "../../store/keys/vault.ts";
import { replace } from "../../store/port/operations.ts";
import { readRecordPages } from "../../store/port/read-all.ts";
import type { Store } from "../../store/port/store.ts";
import { type Alert, alerts, type OwnerIdentity, ownerKey, type Webhook } from "../alert.ts";

/** The URL of a webhook in the form in which it is stored, because it often contains a secret. */
export type SealedWebhookUrl = Pick<Webhook, "sealedUrl" | "endpoint">;

/** The alert of a webhook. */
interface WebhookOf {
  readonly alertId: string;
  readonly owner: OwnerIdentity;
}

/** Keys with which URLs of webhooks are sealed. */
export interface WebhookUrlKeys {
  readonly vault: Vault;
  /** 32-byte key of `Webhook.endpoint`; it must never change. */
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

/** Seals the URL of a webhook. @param url A normalized URL. */
export const sealWebhookUrl = (
  url: string,
  { alertId, owner }: WebhookOf,
  { vault, endpointKey }: WebhookUrlKeys,
): SealedWebhookUrl => ({
  sealedUrl: vault.seal(url, contextOf(alertId)),
  endpoint: createHmac("sha256", endpointKey)
    .update(JSON.stringify([ownerKey(owner), url]))
    .digest("base64url"),
});

/**
 * Opens the URL of a webhook.
 *
 * @throws {Error} If the key that sealed the URL no longer exists.
 */
export const openWebhookUrl = (
  vault: Vault,
  alertId: string,
  { sealedUrl }: Pick<Webhook, "sealedUrl">,
): string => vault.open(sealedUrl, contextOf(alertId));

/** A webhook as earlier versions stored it: with its URL in plain text. */
type PlainWebhook = Omit<Webhook, "sealedUrl" | "endpoint"> & { readonly url: string };

/**
 * Seals the URLs that an earlier version stored in plain text. An embedded store is then written
 * anew, because SQLite leaves replaced rows in its file. To be called before the store is used.
 */
export async function sealPlainWebhookUrls(store: Store, keys: WebhookUrlKeys): Promise<void> {
  let sealed = 0;
  for await (const page of readRecordPages(store.records, alerts)) {
    for (const alert of page) {
      const value = withSealedUrl(alert.key, alert.value, keys);
      if (value === undefined) continue;
      // Each alert on its own: another process that starts may be sealing it too.
      await store.records.commit([replace(alerts, alert, { value })]);
      sealed += 1;
    }
  }
  if (sealed > 0 && store.engine === "embedded") await store.load(store.identity, store.dump());
}

function withSealedUrl(alertId: string, alert: Alert, keys: WebhookUrlKeys): Alert | undefined {
  const { owner } = alert;
  const way = alert.way as Exclude<Alert["way"], Webhook> | PlainWebhook | Webhook;
  if (way.by !== "webhook" || !("url" in way)) return undefined;
  const { url, ...webhook } = way;
  return {
    ...alert,
    way: { ...webhook, ...sealWebhookUrl(new URL(url).href, { alertId, owner }, keys) },
  };
}
