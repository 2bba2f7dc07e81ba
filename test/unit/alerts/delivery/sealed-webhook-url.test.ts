import { describe, expect, it } from "vitest";
import { alerts } from "../../../../src/alerts/alert.ts";
import {
  openWebhookUrl,
  sealPlainWebhookUrls,
} from "../../../../src/alerts/delivery/sealed-webhook-url.ts";
import { put } from "../../../../src/store/port/operations.ts";
import { embedded, openStore } from "../../../support/stores.ts";
import {
  endpointKey,
  storeWebhookAlert,
  vault,
  webhookAlert,
  withPlainUrl,
} from "../../../support/webhook-alerts.ts";

const URL_OF_ALERT = "https://inbox.example/hook?key=1";

describe("URLs that an earlier version stored in plain text", () => {
  it("are sealed, each for its alert, and what is sealed or has no webhook stays as it is", async () => {
    const { store, records } = await openStore(embedded);
    const alert = webhookAlert({ url: URL_OF_ALERT });
    const sealed = webhookAlert({ url: URL_OF_ALERT });
    const plain = withPlainUrl(alert.value, "https://INBOX.example:443/hook?key=1");
    const polled = { ...alert.value, way: { by: "poll" } };
    await records.commit([
      put(alerts, { key: alert.key, value: plain }),
      put(alerts, { key: "polled", value: polled as never }),
      storeWebhookAlert(sealed),
    ]);
    const wayOf = async (key: string) => (await records.get(alerts, key))?.value.way;
    await sealPlainWebhookUrls(store, { vault, endpointKey });
    const found = await wayOf(alert.key);
    if (found?.by !== "webhook" || "url" in found) throw new Error("It has no webhook.");
    expect(JSON.stringify(found)).not.toContain("key=1");
    expect(openWebhookUrl(vault, alert.key, found)).toBe(URL_OF_ALERT);
    expect(() => openWebhookUrl(vault, sealed.key, found)).toThrow();
    expect(found).toEqual({
      ...alert.value.way,
      sealedUrl: found.sealedUrl,
    });
    expect(await wayOf(sealed.key)).toEqual(sealed.value.way);
    expect(await wayOf("polled")).toEqual({ by: "poll" });
  });

  it("are sealed also if another process changes the alert meanwhile", async () => {
    const { store, records } = await openStore(embedded);
    const alert = webhookAlert({ url: URL_OF_ALERT });
    const plain = withPlainUrl(alert.value, URL_OF_ALERT);
    await records.commit([put(alerts, { key: alert.key, value: plain })]);
    let commits = 0;
    const commit: typeof records.commit = async (operations) => {
      commits += 1;
      const value = { ...plain, label: "changed" };
      if (commits === 1) await records.commit([put(alerts, { key: alert.key, value })]);
      return records.commit(operations);
    };
    await sealPlainWebhookUrls(
      { ...store, records: { ...records, commit } },
      { vault, endpointKey },
    );
    const stored = await records.get(alerts, alert.key);
    expect(stored?.value.label).toBe("changed");
    expect(JSON.stringify(stored)).not.toContain("key=1");
  });
});
