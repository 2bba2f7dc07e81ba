import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { type Alert, alerts } from "../../src/alerts/alert.ts";
import { writeBackup } from "../../src/maintenance/backup/backup.ts";
import { insert, replace } from "../../src/store/port/operations.ts";
import type { Store } from "../../src/store/port/store.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { postJson } from "../support/agent.ts";
import { receiver } from "../support/delivery-worker.ts";
import { temporaryFolder } from "../support/process.ts";
import { startTestService } from "../support/test-service.ts";
import { withPlainUrl } from "../support/webhook-alerts.ts";

/** A part of the path of every webhook URL here. */
const SECRET = "hook-9f2c71d05be84a36";

/** Bytes of the database file and of its write-ahead log, as text. */
const bytesIn = (folder: string): string =>
  ["store.sqlite", "store.sqlite-wal"]
    .map((name) => join(folder, name))
    .filter(existsSync)
    .map((file) => readFileSync(file, "latin1"))
    .join();

/** Everything that backups of both kinds hold, as text. */
async function copiesOf(store: Store): Promise<string> {
  const folder = temporaryFolder();
  const [dump, copy] = [join(folder, "backup"), join(folder, "backup.sqlite")];
  await writeBackup({ store, file: dump, now: Date.now }, () => undefined);
  await writeBackup({ store, file: copy, now: Date.now }, () => undefined);
  return gunzipSync(readFileSync(dump)).toString("latin1") + readFileSync(copy, "latin1");
}

/** Starts the service on a folder, with a person's key and requests by it. */
async function start(DATA_DIR: string, key?: string) {
  const service = await startTestService({ DATA_DIR, ALLOW_INSECURE_WEBHOOKS: "1" });
  const scopes = ["alerts:write", "signals:read"] as const;
  const headers = { "x-api-key": key ?? (await service.person().createKey(scopes)) };
  const post = async (path: string, body: object) => {
    const answer = await postJson(`${service.base}/api/alerts${path}`, body, headers);
    return (await answer.json()) as { readonly id: string };
  };
  const urlOf = async (id: string) => {
    const answer = await fetch(`${service.base}/api/alerts/${id}`, { headers });
    return ((await answer.json()) as { readonly delivery: { readonly url: string } }).delivery.url;
  };
  return { service, key: headers["x-api-key"], post, urlOf, store: service.service.state.store };
}

/** The alert with an active webhook, as earlier versions stored it. */
function activePlain(alert: Alert, url: string): Alert {
  const { way, ...rest } = withPlainUrl(alert, url);
  return { ...rest, way: { ...way, state: { is: "active", since: 0 } } as typeof way };
}

/** Stores alerts as earlier versions did: with the URL of their webhook in plain text. */
async function storePlain(folder: string, id: string, url: string): Promise<void> {
  const store = await openEmbedded({ folder, now: () => 0 });
  const alert = await store.records.get(alerts, id);
  if (alert === undefined) throw new Error("It is missing.");
  const value = activePlain(alert.value, url);
  // Of several rows that change, SQLite leaves parts in its file.
  const others = Array.from({ length: 30 }, (_, at) =>
    insert(alerts, { key: `alert_of_before_${at}`, value }),
  );
  await store.records.commit([replace(alerts, alert, { value }), ...others]);
  await store.close();
}

it("the URL of a webhook is in no file of the store and in no copy", async () => {
  const folder = temporaryFolder();
  const { service, post, urlOf, store } = await start(folder);
  const url = `https://hooks.example.com/${SECRET}`;
  const { id } = await post("", { symbols: ["ALDER.SIM"], delivery: { type: "webhook", url } });
  expect(await urlOf(id)).toBe(url);
  expect(bytesIn(folder)).toContain(id);
  expect(bytesIn(folder)).not.toContain(SECRET);
  const copies = await copiesOf(store);
  expect(copies).toContain(id);
  expect(copies).not.toContain(SECRET);
  await service.stop();
  expect(bytesIn(folder)).not.toContain(SECRET);
});

it("a URL that an earlier version stored in plain text is sealed at the start, and used as before", async () => {
  const folder = temporaryFolder();
  const inbox = await receiver();
  const url = `${inbox.url}/${SECRET}`;
  const first = await start(folder);
  const delivery = { type: "webhook", url: "https://hooks.example.com/in" };
  const { id } = await first.post("", { symbols: ["ALDER.SIM"], delivery });
  await first.service.stop();
  await storePlain(folder, id, url);
  expect(bytesIn(folder)).toContain(SECRET);

  const second = await start(folder, first.key);
  expect(await second.urlOf(id)).toBe(url);
  await second.post(`/${id}/test`, {});
  expect(await inbox.arrived(1)).toHaveLength(1);
  await second.service.service.state.keyring.rotate("secret-encryption", { actor: "operator" });
  await second.post(`/${id}/test`, {});
  expect(await inbox.arrived(2)).toHaveLength(2);
  expect(await copiesOf(second.store)).not.toContain(SECRET);
  await second.service.stop();
  expect(bytesIn(folder)).not.toContain(SECRET);
});

it("a URL in plain text that appears after the start is listed, delivered to, and sealed by a change of it", async () => {
  const inbox = await receiver();
  const url = `${inbox.url}/${SECRET}`;
  const { service, key, post, store } = await start(temporaryFolder());
  const delivery = { type: "webhook", url: "https://hooks.example.com/in" };
  const { id } = await post("", { symbols: ["ALDER.SIM"], delivery });
  const stored = async () => (await store.records.get(alerts, id)) ?? expect.fail("It is missing.");
  const before = await stored();
  await store.records.commit([replace(alerts, before, { value: activePlain(before.value, url) })]);

  const headers = { "x-api-key": key };
  const list = await fetch(`${service.base}/api/alerts`, { headers });
  expect(await list.json()).toMatchObject({ items: [{ id, delivery: { url } }] });
  await post(`/${id}/test`, {});
  expect(await inbox.arrived(1)).toHaveLength(1);
  const body = JSON.stringify({ url });
  const patched = await fetch(`${service.base}/api/alerts/${id}`, {
    ...{ method: "PATCH", body },
    headers: { ...headers, "content-type": "application/json" },
  });
  expect(await patched.json()).toMatchObject({ status: "active", delivery: { url } });
  expect(JSON.stringify(await stored())).not.toContain(SECRET);
  await service.stop();
});
