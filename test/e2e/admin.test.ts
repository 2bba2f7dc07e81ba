// @module-tag full

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Auditor } from "../../src/access/auditor.ts";
import { LastUseTracker } from "../../src/access/last-use.ts";
import { queuedMails } from "../../src/mail/outbox.ts";
import { IntakeService } from "../../src/principals/applications/intake.ts";
import { ApiKeyService } from "../../src/principals/keys/api-keys.ts";
import { writeAuditEntry } from "../../src/store/audit-entry.ts";
import type { Store, StoreMode } from "../../src/store/port/store.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { postJson } from "../support/agent.ts";
import { accountLinkOf, startProcess, temporaryFolder } from "../support/process.ts";
import { runCommand } from "../support/run-command.ts";
import { dumpStore } from "../support/stores.ts";

const root = mkdtempSync(join(tmpdir(), "admin-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Location of a store, as settings for commands and a server. */
interface Place {
  readonly env: Readonly<Record<string, string>>;
  open(mode?: StoreMode): Promise<Store>;
}

let places = 0;
function newPlace(): Place {
  places += 1;
  const folder = join(root, `${places}`);
  const open = (mode: StoreMode = "sandbox") => openEmbedded({ folder, mode, now: Date.now });
  return { env: { DATA_DIR: folder }, open };
}

/** Runs a command line of the operator. */
const run = (argv: readonly string[], { env }: Pick<Place, "env">) =>
  runCommand(["admin", ...argv], { env, folder: root });

/** Runs a command line that must succeed. @returns Its JSON result. */
async function done(argv: readonly string[], place: Place): Promise<Record<string, unknown>> {
  const { code, out, err } = await run([...argv, "--json"], place);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

const listOf = async (argv: readonly string[], place: Place, name: string) =>
  (await done(argv, place))[name] as readonly Readonly<Record<string, unknown>>[];

/** Opens the API keys and the intake of a store as the service does. */
function partsOf({ records, identity: { mode } }: Store) {
  const now = () => new Date();
  const audit: Auditor = (tx, entry) => writeAuditEntry(tx, entry, Date.now());
  const lastUse = new LastUseTracker({ records, now, onError: () => {} });
  const keys = new ApiKeyService({ records, mode, now, audit, lastUse });
  return {
    keys,
    intake: new IntakeService({ records, mode, now, audit, keys, hashAddress: String }),
  };
}

/** Runs an action on a store while no other process has it open. */
async function using<T>(
  { open }: Place,
  work: (store: Store & ReturnType<typeof partsOf>) => Promise<T>,
): Promise<T> {
  const store = await open();
  try {
    return await work({ ...store, ...partsOf(store) });
  } finally {
    await store.close();
  }
}

const ada = { name: "Ada", email: "ada@host.example", focus: "quant" } as const;
const eve = { name: "Eve", email: "eve@host.example", focus: undefined };

/** Submits two early-access applications. @returns Their queue tokens. */
const apply = (place: Place) =>
  using(place, async ({ intake }) => [
    (await intake.apply(ada)).queueToken,
    (await intake.apply(eve)).queueToken,
  ]);

/** Returns the actions of all audit rows, whether or not they are already in the hash chain. */
async function auditedActions(store: Store): Promise<readonly (string | undefined)[]> {
  return (await dumpStore(store)).map(({ text }) => /"action":"([^"]+)"/.exec(text)?.[1]);
}

describe("the operator's commands", () => {
  it("create an API key, which works and is shown only once", async () => {
    const place = newPlace();
    await using(place, async () => undefined);
    const scopes = "signals:read alerts:write";
    const argv = ["key", "create", "--name", " A  desk ", "--scopes", scopes];
    const { id, key, notes, ...facts } = await done([...argv, "--days", "30"], place);
    expect(key).toMatch(/^msv_test_\w{38}$/);
    expect(notes).toEqual([expect.stringContaining("x-api-key")]);
    expect(facts).toMatchObject({ name: "A desk", scopes: ["signals:read", "alerts:write"] });
    const days = (Date.parse(String(facts.expiresAt)) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.99);
    expect(days).toBeLessThanOrEqual(30);

    const said = await run(["key", "list"], place);
    expect(said.out).toContain(`${id}  ${String(key).slice(0, 13)}...`);
    expect(said.out).not.toContain(String(key).slice(13));
    const [listed] = await listOf(["key", "list"], place, "keys");
    expect(listed).toMatchObject({ id, name: "A desk", accountId: null, lastUsedAt: null });
    await using(place, async ({ keys, ...store }) => {
      expect(await keys.find(String(key))).toMatchObject({ id, scopes: facts.scopes });
      expect(JSON.stringify(await dumpStore(store))).not.toContain(String(key).slice(13));
      expect(await auditedActions(store)).toContain("key.created");
    });
  });

  it("print a new key on its own line", async () => {
    const place = newPlace();
    await using(place, async () => undefined);
    const argv = ["key", "create", "--name", "Desk", "--scopes", "signals:read"];
    const { code, out } = await run(argv, place);
    expect(code).toBe(0);
    expect(out).toMatch(/^Key key_\w{16} for Desk, good until it is revoked:\nmsv_test_\w{38}\n/);
    expect(out).toContain("only now");
  });

  it("revoke a key, and report an unknown key", async () => {
    const place = newPlace();
    await using(place, async () => undefined);
    const argv = ["key", "create", "--name", "Desk", "--scopes", "signals:read"];
    const { id, key } = await done(argv, place);
    expect(await done(["key", "revoke", String(id)], place)).toMatchObject({ id, revoked: true });
    const again = await run(["key", "revoke", String(id)], place);
    expect(again).toEqual({ code: 1, out: "", err: `There is no key ${id}.\n` });
    expect(await listOf(["key", "list"], place, "keys")).toEqual([]);
    await using(place, async ({ keys, ...store }) => {
      expect(await keys.find(String(key))).toBeUndefined();
      expect(await auditedActions(store)).toContain("key.revoked");
    });
  });

  it("list applications in queue order", async () => {
    const place = newPlace();
    await apply(place);
    await using(place, ({ intake }) => intake.apply({ ...eve, name: "Mallory" }));
    const all = await listOf(["applications", "list"], place, "applications");
    expect(all).toMatchObject([
      { ...ada, state: "waiting" },
      { ...eve, focus: null, state: "waiting" },
    ]);
    expect(Date.parse(String(all[0]?.registeredAt))).toBeLessThanOrEqual(Date.now());
    await done(["applications", "accept", String(all[0]?.id)], place);
    const waiting = ["applications", "list", "--state", "waiting"];
    expect(await listOf(waiting, place, "applications")).toMatchObject([{ name: "Eve" }]);
    const { out: text } = await run(waiting, place);
    expect(text).toMatch(/eve@host\.example {2}Eve\n {2}also applied {2}\S+Z {2}- {2}Mallory\n/);
    const { out } = await run(["applications", "list", "--state", "accepted"], place);
    expect(out).toContain("ada@host.example  Ada");
    expect(out).not.toContain("eve@");
  });

  it("accept an applicant once, with a key and an email", async () => {
    const place = newPlace();
    await apply(place);
    const [first] = await listOf(["applications", "list"], place, "applications");
    const id = String(first?.id);
    const accept = ["applications", "accept", id, "--with-key", "--scopes", "signals:read"];
    const accepted = await done(accept, place);
    expect(accepted).toMatchObject({ id, state: "accepted", isNew: true });
    expect(accepted.notes).toContainEqual(expect.stringContaining("where to sign in"));
    const again = await done(accept, place);
    expect(again).toMatchObject({ id, isNew: false });
    expect(again).not.toHaveProperty("key");
    expect(again.notes).toEqual([expect.stringContaining("No key was made")]);
    await using(place, async ({ keys, intake, records }) => {
      expect(await intake.isAccepted(ada.email)).toBe(true);
      expect(await intake.isAccepted(eve.email)).toBe(false);
      const key = await keys.find(String(accepted.key));
      expect(key).toMatchObject({ name: "Ada", scopes: ["signals:read"] });
      expect(await records.list(queuedMails, { limit: 10 })).toHaveLength(1);
    });
  });

  it("find an application by any of its queue tokens", async () => {
    const place = newPlace();
    const [first = "", other] = await apply(place);
    const [again = ""] = await apply(place);
    const [application] = await listOf(["applications", "list"], place, "applications");
    for (const token of [first, again]) {
      const list = ["applications", "list", "--token", token];
      expect(await listOf(list, place, "applications")).toEqual([application]);
    }
    const { id } = application ?? {};
    expect(await done(["applications", "accept", first], place)).toMatchObject({
      id,
      isNew: true,
    });
    const late = await done(["applications", "accept", again], place);
    expect(late).toMatchObject({ id, isNew: false });
    const known = { ...place, env: { ...place.env, TOKEN: String(other) } };
    const [eves] = await listOf(
      ["applications", "list", "--token", "env:TOKEN"],
      known,
      "applications",
    );
    expect(eves).toMatchObject({ email: eve.email, state: "waiting" });
    const unknown = await run(["applications", "reject", `${first}x`], place);
    expect(unknown).toMatchObject({ code: 1, err: "There is no application of this token.\n" });
    const none = ["applications", "list", "--token", `${first}x`];
    expect(await listOf(none, place, "applications")).toEqual([]);
  });

  it("accept an applicant without a key by default, and reject an applicant", async () => {
    const place = newPlace();
    const [, queueToken] = await apply(place);
    const [first, second] = await listOf(["applications", "list"], place, "applications");
    const accepted = await done(["applications", "accept", String(first?.id)], place);
    expect(accepted).not.toHaveProperty("key");
    const reject = ["applications", "reject", String(second?.id)];
    expect(await done(reject, place)).toMatchObject({ state: "rejected", isNew: true });
    expect(await done(reject, place)).toMatchObject({ state: "rejected", isNew: false });
    await using(place, async ({ intake, keys, ...store }) => {
      expect(await intake.isAccepted(eve.email)).toBe(false);
      expect(await keys.find(String(queueToken))).toBeDefined();
      const actions = await auditedActions(store);
      expect(actions.filter((action) => action === "application.accepted")).toHaveLength(1);
      expect(actions.filter((action) => action === "application.rejected")).toHaveLength(1);
    });
  });

  it("show inquiries", async () => {
    const place = newPlace();
    const message = "Two\nlines";
    const { reference } = await using(place, ({ intake }) =>
      intake.contact({ email: ada.email, message }),
    );
    const all = await listOf(["inquiries", "list"], place, "inquiries");
    expect(all).toMatchObject([{ reference, email: ada.email, message }]);
    const { out } = await run(["inquiries", "list"], place);
    expect(out).toContain("ada@host.example\n  Two\n  lines\n");
  });

  it("reject an invalid command line, and change nothing", async () => {
    const place = newPlace();
    await apply(place);
    const kept = async () => [
      await listOf(["key", "list"], place, "keys"),
      await listOf(["applications", "list"], place, "applications"),
    ];
    const before = await kept();
    const create = ["key", "create", "--name", "Desk"];
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [create, /--scopes: name them/],
      [[...create, "--scopes", ""], /--scopes: must be names/],
      [[...create, "--scopes", "signals:write"], /--scopes: must be names, .* alerts:write/],
      [[...create, "--scopes", "signals:read", "--days", "0"], /--days: must be a whole/],
      [[...create, "--scopes", "signals:read", "--days", "1.5"], /--days: must be a whole/],
      [[...create, "--scopes", "signals:read", "--days", "soon"], /--days: must be a whole/],
      [["key", "create", "--scopes", "signals:read"], /--name: must be a string/],
      [["key", "create", "--name", " ", "--scopes", "signals:read"], /--name: must have/],
      [["key", "revoke"], /<id>: name a key/],
      [["key", "revoke", "msv_test_x"], /<id>: must start with key_/],
      [["applications", "accept"], /<id>: name an application/],
      [["applications", "accept", "app_x", "--scopes", "signals:read"], /--scopes: is for/],
      [["applications", "list", "--state", "new"], /--state: must be one of waiting/],
    ];
    for (const [argv, reason] of wrong) {
      const { code, out, err } = await run(argv, place);
      expect({ code, out }, argv.join(" ")).toEqual({ code: 2, out: "" });
      expect(err).toMatch(reason);
      expect(err).not.toContain("msv_test_x");
    }
    for (const command of ["accept", "reject"]) {
      const { code, err } = await run(["applications", command, "app_unknown"], place);
      expect({ code, err }).toEqual({ code: 1, err: "There is no application app_unknown.\n" });
    }
    expect(await kept()).toEqual(before);
  });
});

describe("a running service", () => {
  it("prints the link to the account page, and queues an email to an accepted applicant", async () => {
    const DATA_DIR = temporaryFolder();
    const running = await startProcess({ DATA_DIR });
    const { baseUrl } = running;
    const opened = await fetch(await accountLinkOf(running), { redirect: "manual" });
    expect([opened.status, opened.headers.get("location")]).toEqual([303, "/account"]);
    const place = { env: { DATA_DIR }, open: () => expect.fail() };
    await postJson(`${baseUrl}/api/apply`, ada);
    const [application] = await listOf(["applications", "list"], place, "applications");
    const accept = ["applications", "accept", String(application?.id)];
    const { notes } = await done(accept, place);
    expect(notes).toEqual(["The message to the applicant waits to be sent."]);
    const [{ text } = {}] = await listOf(["mail"], place, "messages");
    expect(text).toContain("early access to Market Signal and Verification Service");
    expect(text).toContain(`\n${baseUrl}/sign-in\n`);
  });
});

describe("an API key that the operator creates", () => {
  it("has the prefix of a live key in a store of a live market", async () => {
    const place = newPlace();
    await (await place.open("live")).close();
    const argv = ["key", "create", "--name", "Desk", "--scopes", "signals:read"];
    expect((await done(argv, place)).key).toMatch(/^msv_live_/);
  });
});
