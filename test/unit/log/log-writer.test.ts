import canonicalize from "canonicalize";
import { describe, expect, it } from "vitest";
import { Committer, commitmentHash } from "../../../src/log/leaves.ts";
import { proofFileText } from "../../../src/log/log-reader.ts";
import { markRestored } from "../../../src/log/log-state.ts";
import { parseCheckpoint } from "../../../src/tree/checkpoint.ts";
import {
  leafHash,
  treeHash,
  verifyConsistency,
  verifyInclusion,
} from "../../../src/tree/merkle.ts";
import { verifyNote } from "../../../src/tree/note-signatures.ts";
import { TreeEdge } from "../../../src/tree/tiles.ts";
import { parseProof } from "../../../src/tree/tlog-proof.ts";
import { treeSizeOf } from "../../../src/tree/tree-store.ts";
import { verified } from "../../support/log-source.ts";
import {
  closeOf,
  DAY_MS,
  dataFolder,
  Sessions,
  signalLog,
  startNewLog,
  verifierOf,
} from "../../support/signal-log.ts";
import {
  describeEngines,
  dumpStore,
  embedded,
  inBatches,
  model,
  openStore,
} from "../../support/stores.ts";

const symbolsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `S${String(at).padStart(5, "0")}`);

describe("the signal log", () => {
  it("has a leaf for every instrument of a run, and a checkpoint that covers all leaves", async () => {
    const sessions = new Sessions();
    sessions.close(0, "stock", symbolsOf(700));
    sessions.close(0, "crypto", ["BTC-USD"]);
    const log = signalLog(await openStore(embedded), sessions);
    await log.settle();

    const leaves = await log.leaves();
    const contents = leaves.map((leaf) => JSON.parse(leaf));
    expect(contents.map(({ kind }) => kind).slice(0, 5)).toEqual([
      ...["method", "claim", "universe", "run", "signal"],
    ]);
    expect(leaves).toHaveLength(2 + 2 + 700 + 2 + 1);
    for (const leaf of leaves) expect(leaf).toBe(canonicalize(JSON.parse(leaf)));

    const { note = "", origin = "" } = (await log.reader.checkpoint()) ?? {};
    const checkpoint = parseCheckpoint(note);
    expect(verifyNote(checkpoint.note, [verifierOf(origin)])).toHaveLength(1);
    expect(checkpoint.size).toBe(leaves.length);
    const hashes = leaves.map((leaf) => leafHash(Buffer.from(leaf)));
    expect(Buffer.from(checkpoint.root)).toEqual(Buffer.from(treeHash(hashes)));
    expect(origin).toMatch(/^log\.example\/log\/[0-9a-f]{12}$/);
  });

  it("contains every session, however far its writer falls behind", async () => {
    const sessions = new Sessions();
    sessions.close(0, "stock", symbolsOf(2));
    const log = signalLog(await openStore(embedded), sessions);
    await log.settle();
    for (let day = 1; day <= 60; day += 1) sessions.close(day, "stock", symbolsOf(2));
    await log.settle();
    const runs = (await log.contents()).filter(({ kind }) => kind === "run");
    const days = Array.from({ length: 61 }, (_, day) => new Date(closeOf(day)).toISOString());
    expect(runs.map(({ close }) => close)).toEqual(days);
  });

  it("can prove each entry, and the consistency of any two tree sizes", async () => {
    const sessions = new Sessions();
    sessions.close(0, "stock", symbolsOf(600));
    const log = signalLog(await openStore(embedded), sessions);
    await log.settle();
    const leaves = await log.leaves();
    for (const index of [0, 3, 255, 256, 600, leaves.length - 1]) {
      const proven = await log.reader.prove(index);
      const { proof, extra, signed } = parseProof(proven ? proofFileText(proven) : "");
      expect(String(extra)).toBe(leaves[index]);
      const { size, root } = signed;
      const leaf = leafHash(extra ?? Buffer.of());
      expect(verifyInclusion({ index, size, leaf, root, proof })).toBe(true);
    }
    expect(await log.reader.prove(leaves.length)).toBeUndefined();
    for (const [from, to] of [
      [1, 604],
      [256, 512],
      [0, 604],
      [604, 604],
    ] as const) {
      const proven = await log.reader.proveConsistency(from, to);
      expect(proven && verifyConsistency(proven)).toBe(true);
    }
    expect(await log.reader.proveConsistency(1, 605)).toBeUndefined();
    expect(await log.reader.proveConsistency(3, 2)).toBeUndefined();
  });

  it("continues where the previous process ended in the middle of a run", async () => {
    const store = await openStore(embedded);
    const sessions = new Sessions();
    const folder = dataFolder();
    sessions.close(0, "stock", symbolsOf(700));
    const first = signalLog(store, sessions, { folder });
    await first.writeUntil("open run");
    await first.writer.tick();
    expect(await first.leaves()).toHaveLength(0);

    sessions.forget("S00650");
    const second = signalLog(store, sessions, { folder });
    await second.settle();
    const contents = await second.contents();
    expect(contents).toHaveLength(704);
    expect(contents.filter(({ status }) => status === "failed")).toEqual([
      {
        ...{ kind: "signal", v: 3, status: "failed", why: "no_result" },
        ...{ symbol: "S00650", run: 3, close: new Date(closeOf(0)).toISOString() },
      },
    ]);
    expect(contents.slice(4).map(({ symbol }) => symbol)).toEqual(symbolsOf(700));
  });

  it("is not signed when the store has lost leaves that it records as signed", async () => {
    const store = await openStore(embedded);
    const sessions = new Sessions();
    sessions.close(0, "stock", symbolsOf(10));
    const one = signalLog(store, sessions, { isShared: true });
    await one.settle();
    const lost = await one.store.state();
    sessions.close(1, "stock", symbolsOf(10));
    await one.settle();
    const state = await one.store.state();
    if (lost === undefined || state === undefined) throw new Error("there is no log");
    await one.store.start(state, lost.value);

    const other = signalLog(store, sessions, { isShared: true });
    await other.settle();
    expect(other.refusals).toEqual(["25 leaves were signed and the store has 14"]);
  });

  it("is not signed by a process that saw leaves that are now lost, even if another process has signed without them", async () => {
    const store = await openStore(embedded);
    const sessions = new Sessions();
    sessions.close(0, "stock", symbolsOf(10));
    const [one, other] = [0, 1].map(() => signalLog(store, sessions, { isShared: true }));
    if (one === undefined || other === undefined) throw new Error("there are two");
    await one.settle();
    const [lost, signed] = [await one.store.state(), await one.store.checkpoint()];
    sessions.close(1, "stock", symbolsOf(10));
    await one.settle();
    await other.signer.keep();
    expect(other.head.read()?.size).toBe(25);

    // A database primary fails over and loses its last commits.
    const state = await one.store.state();
    if (!lost || !signed || !state) throw new Error("there is no log");
    await one.store.start(state, lost.value);
    const behind = await one.store.state();
    if (behind === undefined) throw new Error("there is no log");
    await one.store.setCheckpoint(behind, signed);
    await other.settle();
    expect(other.refusals).toEqual(["25 leaves were signed and the store has 14"]);
    await other.signer.keep();
    expect(other.head.read()?.size).toBe(25);
  });

  it("is signed by a process that was idle while the log was replaced twice", async () => {
    const store = await openStore(embedded);
    const sessions = new Sessions();
    sessions.close(0, "stock", symbolsOf(10));
    const [away, other] = [0, 1].map(() => signalLog(store, sessions, { isShared: true }));
    if (away === undefined || other === undefined) throw new Error("there are two");
    await away.settle();
    for (const day of [1, 2]) {
      await startNewLog(store);
      sessions.close(day, "stock", symbolsOf(10));
      await other.settle();
    }
    sessions.close(3, "stock", symbolsOf(10));
    const { size = 0, origin } = (await other.store.checkpoint()) ?? {};
    await away.settle();
    expect(away.refusals).toEqual([]);
    expect(await away.store.checkpoint()).toMatchObject({ origin, size: size + 11 });
  });

  it("contains a new universe entry whenever the universe changes, and a run for each session of each class", async () => {
    const sessions = new Sessions();
    sessions.close(0, "stock", ["A", "B"]);
    const log = signalLog(await openStore(embedded), sessions);
    await log.settle();
    sessions.close(1, "crypto", ["X"]);
    sessions.close(2, "stock", ["A", "B", "C"]);
    sessions.close(3, "stock", ["A", "B", "C"]);
    await log.settle();
    const contents = await log.contents();
    const told = contents.map(({ kind, symbols, symbol, close }) =>
      [kind, symbols?.join(""), symbol, close?.slice(8, 10)].filter(Boolean).join(" "),
    );
    expect(told).toEqual([
      ...["method", "claim", "universe AB", "run 01", "signal A 01", "signal B 01"],
      ...["universe X", "run 02", "signal X 02"],
      ...["universe ABC", "run 03", "signal A 03", "signal B 03", "signal C 03"],
      ...["run 04", "signal A 04", "signal B 04", "signal C 04"],
    ]);
  });
});

describeEngines("the signal log of two leaders", (engine) => {
  it("has one run per session even if two processes act as the leader", async () => {
    const store = await openStore(engine);
    const sessions = new Sessions();
    sessions.close(0, "stock", symbolsOf(300));
    const logs = [0, 1].map(() => signalLog(store, sessions, { isShared: true }));
    await Promise.all(logs.map((log) => log.settle()));
    sessions.close(1, "stock", symbolsOf(300));
    await Promise.all(logs.map((log) => log.settle()));
    const [log] = logs as [(typeof logs)[0]];
    const contents = await log.contents();
    expect(contents.map(({ kind }) => kind).filter((kind) => kind !== "signal")).toEqual([
      ...["method", "claim", "universe", "run", "run"],
    ]);
    expect(contents).toHaveLength(605);
    for (const { head } of logs) expect(head.read()?.origin ?? "").toMatch(/^(log\.example|$)/);
  });
});

it("a log restored to a shared store is not signed even by a machine that signed nothing before, until the operator requests a new log", async () => {
  const { store } = await openStore(model);
  const sessions = new Sessions();
  sessions.close(0, "stock", symbolsOf(10));
  const before = signalLog(store, sessions, { isShared: true });
  await before.settle();
  await store.load(store.identity, inBatches((await dumpStore(store)).map(markRestored), 100));
  sessions.close(1, "stock", symbolsOf(10));
  const elsewhere = signalLog(store, sessions, { isShared: true });
  await elsewhere.settle();
  expect(elsewhere.refusals).toEqual([expect.stringContaining("restored from a backup")]);

  const { result } = await startNewLog(store);
  await elsewhere.settle();
  expect(elsewhere.head.read()).toMatchObject({ origin: result.origin });
});

it("a new log starts in a store without a log, and cites the log that was last signed on this machine", async () => {
  const folder = dataFolder();
  const sessions = new Sessions();
  sessions.close(0, "stock", symbolsOf(10));
  const lost = signalLog(await openStore(model), sessions, { folder });
  await lost.settle();
  const old = lost.head.read();

  const next = signalLog(await openStore(model), sessions, { folder });
  await next.settle();
  expect(next.refusals).toEqual([]);
  const [method] = await next.contents();
  expect(method.replaces).toBe(old?.note.text);
  expect(next.head.read()?.origin).not.toBe(old?.origin);
});

it("a log that must not be signed is replaced by a new log when the operator requests it", async () => {
  const { store } = await openStore(model);
  const folder = dataFolder();
  const sessions = new Sessions();
  sessions.close(0, "stock", symbolsOf(10));
  const log = signalLog(store, sessions, { folder });
  await log.settle();
  const state = await log.store.state();
  sessions.close(1, "stock", symbolsOf(10));
  await log.settle();
  const signed = log.head.read();
  const now = await log.store.state();
  if (state === undefined || now === undefined) throw new Error("there is no log");
  // The store is restored to an earlier state.
  await log.store.start(now, state.value);
  const restored = signalLog(store, sessions, { folder });
  await restored.settle();
  expect(restored.refusals).toHaveLength(1);

  await expect(startNewLog(store, false)).rejects.toThrow("takes the place of");
  const { result } = await startNewLog(store);
  await restored.settle();
  const head = restored.head.read();
  expect(head).toMatchObject({ origin: result.origin });
  expect(head?.origin).not.toBe(signed?.origin);
  const [method, ...others] = await restored.contents();
  expect(method.replaces).toMatch(`${signed?.origin}\n`);
  expect(others.filter(({ kind }) => kind === "run")).toHaveLength(1);

  // A copy of the old log still must not be signed.
  const newest = await restored.store.state();
  if (newest === undefined) throw new Error("there is no log");
  await restored.store.start(newest, state.value);
  const again = signalLog(store, sessions, { folder });
  await again.settle();
  expect(again.refusals).toEqual([`${head?.origin} was signed here, which is another log`]);
});

it("a log that has lost tiles of its signed tree is not signed again", async () => {
  const { store } = await openStore(model);
  const folder = dataFolder();
  const sessions = new Sessions();
  sessions.close(0, "stock", symbolsOf(300));
  const earlier = signalLog(store, sessions, { folder });
  await earlier.settle();
  sessions.close(1, "stock", symbolsOf(300));
  // The process ends during the second run, which has filled the tile in which the signed tree
  // ends.
  const state = async () => (await earlier.store.state())?.value;
  while (treeSizeOf((await state()) ?? { edge: [] }) < 512) await earlier.writer.tick();
  await store.archive.prune("log-tile", 2);
  const log = signalLog(store, sessions, { folder });
  await log.settle();
  expect(log.refusals).toEqual(["the first 304 leaves are not those signed"]);
  expect((await log.store.checkpoint())?.size).toBe(304);
});

it("a run of a new log covers the current instruments, even if the old log left a run open at the same index", async () => {
  const { store } = await openStore(model);
  const sessions = new Sessions();
  sessions.close(0, "stock", symbolsOf(300));
  const log = signalLog(store, sessions);
  await log.writeUntil("open run");
  await log.writer.tick();
  const open = (await log.store.state())?.value.open;

  await startNewLog(store);
  // This instrument was listed after the run began.
  sessions.close(0, "stock", ["S00100A"]);
  await log.settle();
  const contents = await log.contents();
  const run = contents.findIndex(({ kind }) => kind === "run");
  expect(run).toBe(open?.index);
  expect(contents[run]).toMatchObject({ results: 301 });
  expect(contents.slice(run + 1).map(({ symbol }) => symbol)).toEqual(
    [...symbolsOf(300), "S00100A"].sort(),
  );
});

it("a sandbox log keeps three to four years of entries, which can still be verified", {
  tags: ["full"],
}, async () => {
  const sessions = new Sessions();
  sessions.close(0, "stock", ["A", "B"]);
  const store = await openStore(model);
  // The sandbox year has 73 sessions.
  const log = signalLog(store, sessions, {
    market: { ...sessions.market, mode: "sandbox", dayMs: DAY_MS / 5 },
  });
  await log.settle();
  for (let day = 1; day <= 5 * 73; day++) {
    sessions.close(day, "stock", ["A", "B"]);
    await log.settle();
  }
  const { id = "", size = 0 } = (await log.reader.checkpoint()) ?? {};
  expect(await log.store.entries(id, 0, 1)).toEqual([]);
  expect(await log.reader.bundle({ index: 0, width: 256 })).toBeUndefined();
  expect(await log.reader.tile({ level: 0, index: 0, width: 256 })).toHaveLength(8_192);
  const rows = await store.archive.read("log-run", { order: "oldest", limit: 10_000 });
  expect(rows.length).toBeGreaterThan(3 * 73);
  expect(rows.length).toBeLessThan(4 * 73 + 2);
  const [grade] = await store.archive.read("log-grade", { order: "oldest", limit: 1 });
  expect(grade?.at).toBeGreaterThanOrEqual(rows[0]?.at ?? Number.NaN);
  const { failures, outcomes } = await verified(log);
  expect(failures).toEqual([]);
  expect(outcomes).toMatchObject({ tree: "proved", runs: "proved", entries: "not_proved" });
  expect(size).toBeGreaterThan(5 * 73 * 3);
});

it("a log is not signed when the store lacks signed leaves or the file log-head is missing", async () => {
  const store = await openStore(model);
  const [folder, other] = [dataFolder(), dataFolder()];
  const sessions = new Sessions();
  sessions.close(0, "stock", symbolsOf(10));
  const log = signalLog(store, sessions, { folder });
  await log.settle();
  const before = log.head.read();
  const state = await log.store.state();

  sessions.close(1, "stock", symbolsOf(10));
  // A restored copy of the store has the earlier state.
  const moved = signalLog(store, sessions, { folder: other });
  await moved.settle();
  expect(moved.refusals).toEqual([
    "log-head is missing in DATA_DIR, so the store may be an old copy",
  ]);

  await log.settle();
  const now = await log.store.state();
  if (state === undefined || now === undefined) throw new Error("there is no log");
  await log.store.start(now, state.value);
  const restored = signalLog(store, sessions, { folder });
  await restored.settle();
  expect(restored.refusals).toEqual(["25 leaves were signed and the store has 14"]);
  expect(before?.size).toBe(14);
  expect(restored.head.read()?.size).toBe(25);
});

it("the log finds the entry of the decision on an instrument at a close", async () => {
  const store = await openStore(model);
  const sessions = new Sessions();
  sessions.close(0, "stock", ["A", "B"]);
  const log = signalLog(store, sessions);
  await log.settle();
  expect(await log.runs.reload()).toBe(1);
  sessions.close(1, "stock", ["A", "B", "C"]);
  await log.settle();
  expect(await log.runs.reload()).toBe(1);
  expect(await log.runs.reload()).toBe(0);
  const of = (symbol: string, day: number) =>
    log.runs.indexOf({ symbol, assetClass: "stock" } as never, closeOf(day));
  const contents = await log.contents();
  for (const [symbol, day] of [
    ["A", 0],
    ["B", 0],
    ["C", 1],
  ] as const) {
    const found = contents[of(symbol, day) ?? -1];
    expect(found).toMatchObject({ symbol, close: new Date(closeOf(day)).toISOString() });
  }
  expect(of("C", 0)).toBeUndefined();
  expect(of("A", 2)).toBeUndefined();
});

it("the log commits to factors and inputs by hashes, which can be verified when the factors and inputs are disclosed", async () => {
  const sessions = new Sessions();
  sessions.close(0, "stock", ["A"]);
  const [snapshot] = sessions.snapshots.allNewest();
  if (snapshot === undefined) throw new Error("there is no snapshot");
  const committer = new Committer(Buffer.alloc(32, 1));
  const { factors, inputs } = committer.commit(snapshot, "log.example/log/1");
  const opening = committer.openFactors(snapshot, "log.example/log/1");
  expect(opening?.text).toBe(canonicalize(JSON.parse(opening?.text ?? "")));
  expect(opening && commitmentHash(opening)).toBe(factors);
  expect(inputs).not.toBe(factors);
  expect(committer.commit(snapshot, "log.example/log/2").factors).not.toBe(factors);
  expect(committer.commit({ ...snapshot, factors: undefined } as never, "x")).toEqual({
    factors: null,
    inputs: null,
  });
});

it("the log forms the same tree in whatever chunks its leaves are appended", async () => {
  const sessions = new Sessions();
  sessions.close(0, "stock", symbolsOf(700));
  let time = 0;
  // Each reading of the clock advances it so far that a chunk has only one leaf.
  const log = signalLog(await openStore(model), sessions, { monotonic: () => (time += 10) });
  await log.settle();
  const edge = new TreeEdge();
  for (const leaf of await log.leaves()) edge.append(leafHash(Buffer.from(leaf)));
  expect((await log.reader.checkpoint())?.root).toBe(Buffer.from(edge.root()).toString("base64"));
});

it("the log serves the tiles of the checkpoint that was read last", async () => {
  const store = await openStore(model);
  const sessions = new Sessions();
  const market = { ...sessions.market, mode: "replay" } as const;
  const tile = { level: 0, index: 0, width: 256 };
  // Every start of a replay begins another log.
  const start = async (day: number) => {
    sessions.close(day, "stock", symbolsOf(300));
    const log = signalLog(store, sessions, { market });
    await log.settle();
    return log.reader;
  };
  const first = await start(0);
  const before = await first.tile(tile);
  const second = await start(1);
  await first.checkpoint();
  const after = await first.tile(tile);
  expect(after).toEqual(await second.tile(tile));
  expect(after).not.toEqual(before);
});

it("the log proves every entry, however the entries are split into stored chunks", async () => {
  const sessions = new Sessions();
  sessions.close(0, "stock", symbolsOf(300));
  let chunks = 0;
  // Chunks alternate between one leaf and as many leaves as fit into a bundle.
  const monotonic = () => (chunks++ % 3) * 10;
  const log = signalLog(await openStore(model), sessions, { monotonic });
  await log.settle();
  for (const [index, leaf] of (await log.leaves()).entries()) {
    expect((await log.reader.prove(index))?.entry).toBe(leaf);
  }
});
