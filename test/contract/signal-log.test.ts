import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { roundScorePoints } from "../../src/answers/rounding.ts";
import { type CommitmentOpening, commitmentHash } from "../../src/log/leaves.ts";
import type { Instrument } from "../../src/market/instrument.ts";
import { parseCheckpoint } from "../../src/tree/checkpoint.ts";
import { leafHash, verifyConsistency, verifyInclusion } from "../../src/tree/merkle.ts";
import { parseLogVerifier } from "../../src/tree/note-keys.ts";
import { verifyNote } from "../../src/tree/note-signatures.ts";
import { getWith, newToken } from "../support/agent.ts";
import { runCommand } from "../support/run-command.ts";
import { smallMarket } from "../support/small-market.ts";
import { sharedTestService, startTestService } from "../support/test-service.ts";

const { base } = await sharedTestService();
const token = await newToken(base);

const textAt = async (path: string) => {
  const response = await fetch(base + path);
  expect(response.status, path).toBe(200);
  return response.text();
};

/** The members of a tool answer that these tests read. */
interface Answer {
  readonly logged: { readonly index: number; readonly at: string };
  readonly scoreSmoothed: number;
  readonly index: number;
  readonly entry: string;
  readonly proof: readonly string[];
  readonly checkpoint: string;
  readonly keys: readonly string[];
  readonly consistency: { readonly isExtended: boolean; readonly proof: readonly string[] };
  readonly factors: CommitmentOpening;
}

const jsonAt = async (path: string) => (await (await getWith(token, base + path)).json()) as Answer;

const bytesOf = (texts: readonly string[]) => texts.map((text) => Buffer.from(text, "base64"));

const checkpoint = async () => parseCheckpoint(await textAt("/log/checkpoint"));

/** Runs a command. @returns Its output and exit code. */
async function run(...argv: readonly string[]) {
  const surroundings = { env: { TOKEN: token }, folder: folder() };
  const { code, out, err } = await runCommand(argv, surroundings);
  return { exitCode: code, text: out + err };
}

let folderPath: string | undefined;
function folder(): string {
  folderPath ??= mkdtempSync(join(tmpdir(), "verify-"));
  return folderPath;
}

describe("the log over HTTP", () => {
  it("has a checkpoint signed by its keys", async () => {
    const { note, origin, size } = await checkpoint();
    const keys = (await textAt("/log/keys")).trim().split("\n").map(parseLogVerifier);
    expect(verifyNote(note, keys).map(({ publicKey }) => publicKey.asymmetricKeyType)).toEqual([
      ...["ed25519", "ml-dsa-44"],
    ]);
    expect(origin).toMatch(/^127\.0\.0\.1:\d+\/log\/[0-9a-f]{12}$/);
    expect(size).toBeGreaterThan(40);
  });

  it("serves tiles and entries as the tlog-tiles specification requires", async () => {
    const { size } = await checkpoint();
    const tile = await fetch(`${base}/log/tile/0/000.p/${size}`);
    expect(tile.headers.get("content-type")).toBe("application/octet-stream");
    expect(tile.headers.get("cache-control")).toContain("immutable");
    expect(tile.headers.get("content-encoding")).toBeNull();
    expect(tile.headers.get("access-control-allow-origin")).toBe("*");
    expect((await tile.arrayBuffer()).byteLength).toBe(32 * size);
    const entries = await fetch(`${base}/log/tile/entries/000.p/${size}`);
    expect(entries.headers.get("content-encoding")).toBe("gzip");
    const bytes = Buffer.from(await entries.arrayBuffer());
    const first = bytes.subarray(2, 2 + bytes.readUInt16BE(0));
    expect(JSON.parse(String(first))).toMatchObject({ kind: "method", market: "sandbox" });
    const head = await fetch(`${base}/log/checkpoint`);
    expect(head.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(head.headers.get("cache-control")).toBe("no-cache");
  });

  it.each([
    ...[
      "/log/tile/0/001",
      "/log/tile/0/000",
      "/log/tile/0/0",
      "/log/tile/9/000",
      "/log/tile/x/000",
    ],
    ...[
      "/log/tile/entries/001",
      "/log/tile/entries/x",
      "/log/tile/0/000.p/255",
      "/log/proof/99999",
    ],
    "/log/consistency?from=1&to=99999",
  ])("answers 404 with a hint at %s, even to browsers", async (path) => {
    const response = await fetch(base + path, { headers: { accept: "text/html,*/*;q=0.8" } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      code: "not_found",
      next: expect.stringMatching(/checkpoint/),
    });
  });

  it.each([
    ...["/log/proof/-1", "/log/proof/x", "/log/proof/1.5", "/log/consistency"],
    ...["/log/consistency?from=2&to=1", "/log/consistency?from=a&to=1"],
  ])("answers 400 at %s", async (path) => {
    const response = await fetch(base + path);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_request" });
  });

  it("proves that later trees extend earlier ones", async () => {
    const { size, root } = await checkpoint();
    const { fromRoot, toRoot, proof, ...sizes } = JSON.parse(
      await textAt(`/log/consistency?from=7&to=${size}`),
    );
    const [from, to] = bytesOf([fromRoot, toRoot]) as [Buffer, Buffer];
    const claim = { ...sizes, fromRoot: from, toRoot: to, proof: bytesOf(proof) };
    expect(verifyConsistency(claim)).toBe(true);
    expect(to).toEqual(root);
  });
});

describe("the log after a rotation of its keys", () => {
  it("is signed by the old and the new keys, so that verifiers with either set can verify it", async () => {
    const rotated = await startTestService();
    const textOf = async (path: string) => (await fetch(rotated.base + path)).text();
    const keys = async () => (await textOf("/log/keys")).trim().split("\n");
    const old = await keys();
    const { keyring } = rotated.service.state;
    for (const use of ["log-signing", "log-signing-ml-dsa"] as const) {
      await keyring.rotate(use, { actor: "operator" });
    }
    const { size } = parseCheckpoint(await textOf("/log/checkpoint"));
    const session = 60_000;
    await rotated.advanceTo(new Date(rotated.clock.now.getTime() + session));
    const newest = async () => parseCheckpoint(await textOf("/log/checkpoint"));
    await expect.poll(async () => (await newest()).size).toBeGreaterThan(size);
    const { note } = await newest();
    const all = await keys();
    expect(all).toHaveLength(4);
    expect(all).toEqual(expect.arrayContaining([...old]));
    for (const key of all) expect(verifyNote(note, [parseLogVerifier(key)])).toHaveLength(1);
  });
});

describe("verify_signal", () => {
  it("proves the logged signal that get_signal references, and discloses its factors", async () => {
    const { logged, ...signal } = await jsonAt("/api/signals?detail=full&symbol=ALDER.SIM");
    const found = await jsonAt("/api/signals/verify?symbol=ALDER.SIM");
    expect(found.index).toBe(logged.index);
    const entry = JSON.parse(found.entry);
    expect(entry).toMatchObject({ symbol: "ALDER.SIM", close: logged.at, kind: "signal" });
    expect(entry.scoreSmoothed).toBe(roundScorePoints(signal.scoreSmoothed));
    const { size, root, note } = parseCheckpoint(found.checkpoint);
    expect(verifyNote(note, found.keys.map(parseLogVerifier))).toHaveLength(1);
    const leaf = leafHash(found.entry);
    const proof = bytesOf(found.proof);
    expect(verifyInclusion({ index: found.index, size, leaf, root, proof })).toBe(true);
    expect(commitmentHash(found.factors)).toBe(entry.factors);
    const factors = Object.values(JSON.parse(found.factors.text)) as { contribution: number }[];
    const score = 50 + factors.reduce((sum, { contribution }) => sum + contribution, 0);
    expect(score).toBeCloseTo(entry.scoreRaw, 2);
  });

  it("proves that the log extends a known checkpoint, or reports that it does not", async () => {
    const { fromRoot } = JSON.parse(await textAt("/log/consistency?from=5&to=5"));
    const ask = (known: string) =>
      jsonAt(`/api/signals/verify?index=1&knownCheckpoint=${encodeURIComponent(known)}`);
    const { consistency, checkpoint: note } = await ask(`5:${fromRoot}`);
    expect(consistency.isExtended).toBe(true);
    const { size, root } = parseCheckpoint(note);
    const [from] = bytesOf([fromRoot]) as [Buffer];
    const claim = { from: 5, fromRoot: from, to: size, toRoot: root };
    expect(verifyConsistency({ ...claim, proof: bytesOf(consistency.proof) })).toBe(true);
    const other = Buffer.alloc(32).toString("base64");
    expect((await ask(`5:${other}`)).consistency.isExtended).toBe(false);
    expect((await ask(note)).consistency.isExtended).toBe(true);
  });

  it.each([
    ["of another log", (note: string) => note.replace(/^.*\n/, "other.example/log/1\n")],
    ["of a longer log than this one", (note: string) => note.replace(/\n\d+\n/, "\n999999\n")],
    ["that is malformed", () => "5 entries"],
  ])("answers 400 with a hint for a known checkpoint %s", async (_, change) => {
    const { checkpoint: note } = await jsonAt("/api/signals/verify?index=1");
    const known = encodeURIComponent(change(note));
    const path = `/api/signals/verify?index=1&knownCheckpoint=${known}`;
    const response = await getWith(token, base + path);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: "invalid_request",
      detail: expect.stringMatching(/^knownCheckpoint: /),
      next: expect.stringMatching(/checkpoint|evidence/),
    });
  });
});

describe("market-signal verify", () => {
  it("verifies the log at a URL, saves its checkpoint, and states what it cannot prove", async () => {
    onTestFinished(() => rmSync(folder(), { recursive: true }));
    const first = await run("verify", base, "--state", "seen.json");
    expect(first.exitCode, first.text).toBe(2);
    expect(first.text).toMatch(/^not proved {2}signature/m);
    expect(first.text).toMatch(/^proved {6}tree/m);
    expect(first.text).not.toContain("FAILED");
    expect(first.text).toMatch(/ record .*no answer of the service/);
    const withToken = await run("verify", base, "--token", "env:TOKEN");
    expect(withToken.text).toMatch(/ record .*(as the service answers it|nothing is graded yet)/);
    expect(withToken.text).toMatch(/ scores .*[1-9]\d* of \d+ opened/);
    const second = await run("verify", base, "--state", "seen.json", "--json");
    const { outcome, checks } = JSON.parse(second.text);
    expect(outcome).toBe("not_proved");
    const named = checks.map((one: { name: string; outcome: string }) => [one.name, one.outcome]);
    expect(Object.fromEntries(named)).toMatchObject({ signature: "proved", history: "proved" });

    const state = join(folder(), "seen.json");
    const known = JSON.parse(readFileSync(state, "utf8"));
    known.sightings[0].root = Buffer.alloc(32).toString("base64");
    writeFileSync(state, JSON.stringify(known));
    const forked = await run("verify", base, "--state", "seen.json");
    expect(forked.exitCode).toBe(1);
    expect(forked.text).toMatch(/^FAILED {6}history/m);

    const download = await run("log", "download", base, "copy");
    expect(download.exitCode, download.text).toBe(0);
    const keys = (await textAt("/log/keys")).trim().split("\n");
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      const copy = await run("verify", "copy", "--key", key);
      expect(copy.text).toMatch(/^proved {6}signature/m);
    }
    const again = await run("log", "download", base, "copy", "--json");
    expect(JSON.parse(again.text)).toMatchObject({ files: 0 });

    writeFileSync(join(folder(), "e.tlog-proof"), await textAt("/log/proof/4"));
    const proof = await run("verify", "e.tlog-proof", "--key", keys[1] ?? "");
    expect(proof.text).toMatch(/^proved {6}inclusion/m);
    expect(proof.exitCode).toBe(2);
  });

  it("explains what is wrong with its arguments", async () => {
    expect(await run("verify")).toMatchObject({
      exitCode: 2,
      text: expect.stringMatching(/<log>: is missing/),
    });
    expect(await run("verify", "nothing")).toMatchObject({
      exitCode: 1,
      text: expect.stringMatching(/no folder/),
    });
    expect(await run("verify", base, "--key", "x")).toMatchObject({
      exitCode: 2,
      text: expect.stringMatching(/--key/),
    });
    expect(await run("log", "download", base)).toMatchObject({
      exitCode: 2,
      text: expect.stringMatching(/<folder>/),
    });
    expect(await run("log", "download", "x", "y")).toMatchObject({
      exitCode: 2,
      text: expect.stringMatching(/address/),
    });
  });
});

describe("the log of markets other than the sandbox", () => {
  it("does not exist in a market with a stopped clock", async () => {
    const market = await smallMarket();
    const asOf = new Date(Date.UTC(2014, 2, 28, 21));
    const standing = await startTestService(
      {},
      { market: { kind: "files", folder: market, asOf } },
    );
    expect((await fetch(`${standing.base}/log/checkpoint`)).status).toBe(404);
    const reader = await newToken(standing.base);
    const [{ symbol }] = standing.service.market.instruments() as readonly [Instrument];
    const signal = await getWith(reader, `${standing.base}/api/signals?symbol=${symbol}`);
    expect(await signal.json()).toMatchObject({ logged: null });
    const verified = await getWith(reader, `${standing.base}/api/signals/verify?symbol=${symbol}`);
    expect(verified.status).toBe(404);
  });

  it("requires signals:read to read the entries of a replay, and gets the entries of each session once the session has closed", async () => {
    const market = await smallMarket();
    const range = { from: Date.UTC(2014, 2, 3), to: Date.UTC(2014, 2, 28), daysPerSecond: 4 };
    const replayed = await startTestService(
      {},
      { market: { kind: "replay", folder: market, ...range } },
    );
    const { base: address, service, clock } = replayed;
    expect((await fetch(`${address}/log/checkpoint`)).status).toBe(200);
    expect((await fetch(`${address}/log/tile/0/000.p/1`)).status).toBe(200);
    for (const path of ["/log/tile/entries/000.p/1", "/log/proof/0"]) {
      const refused = await fetch(address + path);
      expect(refused.status).toBe(401);
      const reader = await newToken(address);
      const allowed = await getWith(reader, address + path);
      expect(allowed.status).toBe(200);
      expect(allowed.headers.get("cache-control")).toContain("private");
    }
    const size = async () =>
      parseCheckpoint(await (await fetch(`${address}/log/checkpoint`)).text()).size;
    const before = await size();
    for (let step = 0; step < 12; step++) {
      clock.now = new Date(clock.now.getTime() + 250);
      service.refresh();
    }
    await expect.poll(size).toBeGreaterThan(before + 2);
  });
});
