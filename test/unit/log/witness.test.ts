import { expect, it } from "vitest";
import { readTextFromUrl } from "../../../src/cli/log-source.ts";
import { proofFileText } from "../../../src/log/log-reader.ts";
import { LogStore } from "../../../src/log/log-store.ts";
import { verifyLog, verifyProofFile } from "../../../src/log/verify/verify-log.ts";
import {
  formatAddCheckpointRequest,
  hashLogOrigin,
} from "../../../src/log/witness/add-checkpoint-request.ts";
import { cosignaturesOf } from "../../../src/log/witness/cosignature.ts";
import { WitnessPolicy } from "../../../src/log/witness/policy.ts";
import { appendToArchive } from "../../../src/store/port/operations.ts";
import type { Store } from "../../../src/store/port/store.ts";
import { overallOutcome } from "../../../src/tree/check.ts";
import { parseCheckpoint } from "../../../src/tree/checkpoint.ts";
import { consistencyPath } from "../../../src/tree/merkle.ts";
import { parseWitnessVerifier } from "../../../src/tree/note-keys.ts";
import { withoutLongSignatures } from "../../../src/tree/signed-note.ts";
import { rangeHashes } from "../../../src/tree/tiles.ts";
import { logSourceOf } from "../../support/log-source.ts";
import { openWitness, witnessAnswer } from "../../support/log-witness.ts";
import {
  dataFolder,
  Sessions,
  signalLog,
  startNewLog,
  verifierTextOf,
} from "../../support/signal-log.ts";
import { model, openStore } from "../../support/stores.ts";

const SYMBOLS = ["A", "B", "C"];

const HOUR_MS = 3_600_000;

/** Time within which a witness must show the checkpoint that it claims, in milliseconds. */
const PATIENCE_MS = 60_000;

type Log = ReturnType<typeof signalLog>;

const originOf = async ({ store }: Log) => (await store.state())?.value.origin ?? "";

/** Outcomes of checks by name. */
const named = (checks: Awaited<ReturnType<typeof verifyLog>>["checks"]) =>
  Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome]));

/** A log with `count` witnesses that has logged its first run. */
async function witnessedLog(count: number, quorum = "all", isMlDsa = false) {
  const sessions = new Sessions();
  const { store } = await openStore(model);
  const folder = dataFolder();
  sessions.close(0, "stock", SYMBOLS);
  const before = signalLog(store, sessions, { folder });
  await before.settle();
  const key = verifierTextOf(
    await originOf(before),
    isMlDsa ? "log-signing-ml-dsa" : "log-signing",
  );
  const now = () => sessions.knownUntil() + 60_000;
  const names = Array.from({ length: count }, (_, at) => `w${at}`);
  const witnesses = await Promise.all(names.map((name) => openWitness(name, [key], now)));
  const keys = witnesses.map((one) => (isMlDsa ? one.mlDsaKey : one.key));
  const lines = witnesses.map(({ url }, at) => `witness ${names[at]} ${keys[at]} ${url}`);
  const group = `group all ${quorum} ${names.join(" ")}`;
  const text = `log ${key}\n${lines.join("\n")}\n${group}\nquorum all\n`;
  const policy = new WitnessPolicy(text);
  const log = signalLog(store, sessions, { folder, policy });
  await log.settle();
  return { sessions, store, folder, witnesses, policy, key, log };
}

/** Verifies a log one hour after its last close, including the witnesses' cosignatures. */
const verified = (log: Log, policy: WitnessPolicy, sessions: Sessions) =>
  verifyLog({
    source: logSourceOf(log),
    keys: policy.logs.map(({ key }) => key),
    known: undefined,
    policy,
    now: () => sessions.knownUntil() + HOUR_MS,
    ask: readTextFromUrl,
  });

/** Opens a store that was restored from a backup of the log's current state. */
async function copyOf({ store }: Log, { archive }: Pick<Store, "archive">) {
  const { store: copy } = await openStore(model);
  const [state, signed] = [await store.state(), await store.checkpoint()];
  if (!state || !signed) throw new Error("there is no log");
  for (const kind of ["log-entries", "log-tile", "log-run", "log-universe"]) {
    const rows = await archive.read(kind, { order: "oldest", limit: 1_000 });
    await copy.records.commit(rows.map((row) => appendToArchive({ ...row, kind })));
  }
  const logs = new LogStore(copy);
  await logs.start(undefined, state.value);
  const started = await logs.state();
  if (started === undefined) throw new Error("there is no log");
  await logs.setCheckpoint(started, signed);
  return copy;
}

/** The request body with which a log submits its last checkpoint to a witness. */
async function requestOf({ store }: Log, old: number): Promise<string> {
  const { id = "", size = 0, note = "" } = (await store.checkpoint()) ?? {};
  const path = old > 0 && old <= size ? consistencyPath(old, size) : [];
  const proof = await rangeHashes(path, size, (tile) => store.tile(id, tile));
  return formatAddCheckpointRequest({ old, proof, note });
}

it("a log with witnesses is published with its quorum, and is fully verified even on the first verification", async () => {
  const { sessions, log, policy } = await witnessedLog(3, "2");
  for (const day of [1, 2]) {
    sessions.close(day, "stock", SYMBOLS);
    sessions.close(day, "crypto", ["X"]);
    await log.settle();
  }
  const { note = "", size } = (await log.store.published()) ?? {};
  expect(size).toBe((await log.store.checkpoint())?.size);
  expect(cosignaturesOf(parseCheckpoint(note).note, policy.verifiers)).toHaveLength(3);

  const { checks } = await verified(log, policy, sessions);
  expect(named(checks)).toEqual({
    ...{ signature: "proved", witnesses: "proved", tree: "proved", history: "proved" },
    ...{
      entries: "proved",
      methods: "proved",
      runs: "proved",
      claims: "proved",
      thresholds: "proved",
    },
    ...{ anchors: "proved", times: "proved" },
    ...{ sessions: "proved", settlements: "not_proved" },
    ...{ scores: "not_proved", outcomes: "not_proved", record: "not_proved" },
  });

  const proven = await log.reader.prove(4);
  const trust = { keys: policy.logs.map(({ key }) => key), known: undefined, policy };
  const file = verifyProofFile(proven ? proofFileText(proven) : "", trust);
  expect(named(file.checks)).toMatchObject({ witnesses: "proved", inclusion: "proved" });
});

it("a log requires only ML-DSA-44 keys when its policy contains only such keys", async () => {
  const { sessions, log, policy, key } = await witnessedLog(1, "all", true);
  sessions.close(1, "stock", SYMBOLS);
  await log.settle();
  const { note = "", size } = (await log.store.published()) ?? {};
  expect(size).toBe((await log.store.checkpoint())?.size);
  const [cosignature] = cosignaturesOf(parseCheckpoint(note).note, policy.verifiers);
  expect(cosignature?.verifier.publicKey.asymmetricKeyType).toBe("ml-dsa-44");
  const { checks } = await verified(log, policy, sessions);
  expect(named(checks)).toMatchObject({
    ...{ signature: "proved", witnesses: "proved", history: "proved", anchors: "proved" },
  });
  expect(policy.logs.map((one) => one.key)).toEqual([key]);

  const forged = note.replace(/(\n— \S+ \S{800})\S{4}/, "$1AAAA");
  const source = logSourceOf(log);
  const read = async (path: string) =>
    path === "checkpoint" ? Buffer.from(forged) : source.read(path);
  const look = await verifyLog({
    ...{ source: { read }, keys: [key], known: undefined, now: Date.now },
  });
  expect(look.checks[0]).toMatchObject({ name: "signature", outcome: "failed" });
});

it("a log without a quorum publishes no new checkpoint, and reports since when and why", async () => {
  const { sessions, store, folder, policy, witnesses, log } = await witnessedLog(2);
  const size = (await log.reader.checkpoint())?.size;
  witnesses[1]?.close();
  sessions.close(1, "stock", SYMBOLS);
  let time = sessions.knownUntil();
  const next = signalLog(store, sessions, { folder, policy, now: () => time });
  await next.settle();
  expect((await next.store.checkpoint())?.size).toBeGreaterThan(size ?? 0);
  expect((await next.reader.checkpoint())?.size).toBe(size);
  expect(next.witnesses?.fault).toBeUndefined();
  time += 10 * 60_000;
  const since = new Date(sessions.knownUntil()).toISOString();
  expect(next.witnesses?.fault).toBe(`no quorum of witnesses since ${since} (w1 does not answer)`);
});

it("a log that was restored to an earlier state is not signed, and can be replaced by a new log", async () => {
  const { sessions, store, policy, log } = await witnessedLog(2);
  const copy = await copyOf(log, store);
  const origin = await originOf(log);
  sessions.close(1, "stock", SYMBOLS);
  await log.settle();

  // The copy runs on another machine, which has no log-head file.
  sessions.close(2, "stock", SYMBOLS);
  const restored = signalLog(copy, sessions, { folder: dataFolder(), isShared: true, policy });
  const before = await restored.store.state();
  await restored.settle();
  const reason = "12 leaves were signed and the store has 7";
  expect(restored.refusals).toEqual([
    `the witness w0 has a checkpoint that was signed here: ${reason}`,
  ]);
  expect(await restored.store.state()).toEqual(before);

  await startNewLog(copy);
  await restored.settle();
  expect(await restored.store.refusal()).toBeUndefined();
  expect((await restored.store.checkpoint())?.origin).not.toBe(origin);
});

it("a fork of a log is rejected by its witnesses and reported by the verifier", async () => {
  const { sessions, store, policy, witnesses, log } = await witnessedLog(2);
  const copy = await copyOf(log, store);
  const forked = new Sessions();
  forked.close(0, "stock", SYMBOLS);
  sessions.close(1, "stock", SYMBOLS);
  await log.settle();

  // An operator signs a different second session and bypasses the safeguards of the service.
  forked.close(2, "stock", SYMBOLS);
  forked.close(3, "stock", SYMBOLS);
  const fork = signalLog(copy, forked, { folder: dataFolder(), isShared: true });
  await fork.settle();
  expect(fork.refusals).toEqual([]);

  const own = signalLog(copy, forked, { folder: dataFolder(), isShared: true, policy });
  await own.settle();
  const reason = "has a checkpoint that was signed here: the first 12 leaves are not those signed";
  expect(own.refusals).toEqual([`the witness w0 ${reason}`]);
  for (const { contradictions } of witnesses) {
    expect(contradictions).toEqual([(await fork.store.checkpoint())?.note]);
  }

  const { checks } = await verified(fork, policy, forked);
  expect(checks).toContainEqual(
    expect.objectContaining({
      name: "history",
      outcome: "failed",
      detail: expect.stringMatching(
        /^the first 12 entries are not those seen at .* by the witness w0$/,
      ),
    }),
  );
  expect(overallOutcome(checks)).toBe("failed");
});

/** A log whose only witness can give false responses, with a clock that the test advances. */
async function doubtfulLog() {
  const { sessions, store, folder, policy, witnesses } = await witnessedLog(1);
  const [{ lies }] = witnesses as [Awaited<ReturnType<typeof openWitness>>];
  sessions.close(1, "stock", SYMBOLS);
  const clock = { now: sessions.knownUntil() };
  const next = signalLog(store, sessions, { folder, policy, now: () => clock.now });
  const size = async () => (await next.store.checkpoint())?.size ?? 0;
  return { lies, clock, log: next, size };
}

/** A checkpoint with another size and root under the signature of the true checkpoint. */
const forged = (note: string) => note.replace(/\n\d+\n.*\n\n/, `\n1000\n${"A".repeat(43)}=\n\n`);

it.each([
  ["no checkpoint", () => witnessAnswer(404, "")],
  ["a text that is not a checkpoint", () => witnessAnswer(200, "1000 entries\n")],
  ["a checkpoint that this log did not sign", (note: string) => witnessAnswer(200, forged(note))],
  ["an earlier checkpoint of this log", (note: string) => witnessAnswer(200, note)],
])(
  "a witness that claims a larger checkpoint but shows %s cannot stop the log",
  async (_, shown) => {
    const { lies, clock, log, size } = await doubtfulLog();
    const note = (await log.store.checkpoint())?.note ?? "";
    lies.addCheckpoint = () => witnessAnswer(409, "9007199254740991\n");
    lies.checkpoint = () => shown(note);
    await log.settle();
    clock.now += PATIENCE_MS;
    await log.settle();
    expect(await log.store.refusal()).toBeUndefined();
    expect(await size()).toBe(12);
    expect(log.problems).toEqual([
      expect.stringMatching(/^w0 says that it has cosigned 9007199254740991 entries, and shows /),
    ]);
    expect((await log.store.published())?.size).toBe(7);

    // After the witness gives true responses again, its cosignatures are accepted.
    lies.addCheckpoint = undefined;
    clock.now += PATIENCE_MS;
    await log.settle();
    expect((await log.store.published())?.size).toBe(12);
  },
);

it("a witness cannot stop a log by rejecting a valid extension of its checkpoint", async () => {
  const { lies, clock, log, size } = await doubtfulLog();
  lies.addCheckpoint = () => witnessAnswer(422, "the proof is wrong\n");
  await log.settle();
  expect(await size()).toBe(12);
  expect(log.problems).toEqual([
    expect.stringMatching(
      /^w0 says that this log does not extend the 0 entries .* this log extends$/,
    ),
  ]);
  lies.checkpoint = () => witnessAnswer(500, "");
  clock.now += PATIENCE_MS;
  await log.settle();
  await log.settle();
  expect(await log.store.refusal()).toMatch(
    /^the witness w0 says .*; it has until 2026-01-02T21:02:00/,
  );
  clock.now += PATIENCE_MS;
  await log.settle();
  expect(await log.store.refusal()).toBeUndefined();
});

it("a log waits a minute for the larger checkpoint that a witness claims to have, so that a lost response is not mistaken for a fork", async () => {
  const { sessions, store, policy, witnesses, log } = await witnessedLog(1);
  const copy = await copyOf(log, store);
  sessions.close(1, "stock", SYMBOLS);
  await log.settle();
  const [one] = witnesses as [Awaited<ReturnType<typeof openWitness>>];
  one.lies.checkpoint = () => witnessAnswer(503, "");
  const clock = { now: sessions.knownUntil() };
  const folder = dataFolder();
  const options = { folder, isShared: true, policy, now: () => clock.now };
  const restored = signalLog(copy, sessions, options);
  await restored.settle();
  expect(restored.refusals).toEqual([expect.stringContaining("it has until")]);
  one.lies.checkpoint = undefined;
  clock.now += PATIENCE_MS - 1;
  await restored.settle();
  clock.now += HOUR_MS;
  await restored.settle();
  expect(restored.refusals.at(-1)).toContain("12 leaves were signed and the store has 7");
  expect((await restored.store.checkpoint())?.size).toBe(7);
});

it("a rollback of a log is reported by the verifier, with the first missing entry", async () => {
  const { sessions, log, policy } = await witnessedLog(1);
  const old = await log.store.published();
  sessions.close(1, "stock", SYMBOLS);
  await log.settle();
  const source = logSourceOf(log);
  const read = async (path: string) =>
    path === "checkpoint" ? Buffer.from(old?.note ?? "") : source.read(path);
  const look = (afterMs: number) =>
    verifyLog({
      source: { read },
      keys: policy.logs.map(({ key }) => key),
      known: undefined,
      policy,
      now: () => sessions.knownUntil() + 60_000 + afterMs,
      ask: readTextFromUrl,
    });
  // A log may need a few minutes to publish what a witness has already cosigned.
  expect(overallOutcome((await look(0)).checks)).toBe("not_proved");
  const [, witnesses] = (await look(HOUR_MS)).checks;
  expect(witnesses).toMatchObject({ name: "witnesses", outcome: "failed", entry: old?.size });
});

it("a witness responds as specified by C2SP tlog-witness", async () => {
  const { sessions, log, witnesses } = await witnessedLog(1);
  const [one] = witnesses as [Awaited<ReturnType<typeof openWitness>>];
  const post = async (body: string) => {
    const response = await fetch(`${one.url}/add-checkpoint`, { method: "POST", body });
    const type = response.headers.get("content-type");
    return { status: response.status, type, body: await response.text() };
  };
  const size = (await log.store.checkpoint())?.size ?? 0;
  sessions.close(1, "stock", SYMBOLS);
  while ((await log.writer.tick()) > 0);
  const good = await requestOf(log, size);

  expect(await post("old 1\n")).toMatchObject({ status: 400 });
  expect(await post(good.replace(`old ${size}`, `old 0${size}`))).toMatchObject({ status: 400 });
  expect(await post(await requestOf(log, 1_000))).toMatchObject({ status: 400 });
  expect(await post(good.replaceAll("log.example", "other.example"))).toMatchObject({
    status: 404,
  });
  const [, signature = ""] = /— \S+ (\S+)\n/.exec(good) ?? [];
  const bad = `${signature.slice(0, 20)}AAAA${signature.slice(24)}`;
  expect(await post(good.replace(signature, bad))).toMatchObject({ status: 403 });
  expect(await post(await requestOf(log, 0))).toEqual({
    ...{ status: 409, type: "text/x.tlog.size", body: `${size}\n` },
  });
  const [first = "", , ...rest] = good.split("\n");
  expect(await post([first, ...rest].join("\n"))).toMatchObject({ status: 422 });
  expect(one.contradictions).toHaveLength(1);

  const cosigned = await post(good);
  expect(cosigned.status).toBe(200);
  const note = (await log.store.checkpoint())?.note ?? "";
  const held = await readTextFromUrl(`${one.url}/${hashLogOrigin(await originOf(log))}/checkpoint`);
  expect(held).toBe(withoutLongSignatures(note) + cosigned.body);
  const verifiers = [parseWitnessVerifier(one.key)];
  const at = 1_000 * Math.floor((sessions.knownUntil() + 60_000) / 1_000);
  expect(cosignaturesOf(parseCheckpoint(held ?? "").note, verifiers)).toMatchObject([{ at }]);
  expect(await readTextFromUrl(`${one.url}/${hashLogOrigin("other")}/checkpoint`)).toBeUndefined();
});

it("a witness keeps its cosigned checkpoints across a restart, and locks its file against other processes", async () => {
  const { log, witnesses } = await witnessedLog(1);
  const [one] = witnesses as [Awaited<ReturnType<typeof openWitness>>];
  expect(() => one.start()).toThrow("locked");
  const before = one.witness.checkpoint(hashLogOrigin(await originOf(log)));
  one.close();
  const again = one.start();
  expect(again.checkpoint(hashLogOrigin(await originOf(log)))).toEqual(before);
  expect(again.addCheckpoint(await requestOf(log, 0))).toMatchObject({ status: 409 });
  again.close();
});
