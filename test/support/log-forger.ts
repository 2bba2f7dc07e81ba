import { createPrivateKey, generateKeyPairSync, hash, type KeyObject } from "node:crypto";
import canonicalize from "canonicalize";
import { verdictDatesOf } from "../../src/grading/track-record.ts";
import { checkpointText } from "../../src/log/checkpoint.ts";
import { methodLeaf, runLeaf, universeLeaves } from "../../src/log/leaves.ts";
import { inclusionPath, leafHash } from "../../src/log/merkle.ts";
import { noteSigner, verifierText } from "../../src/log/note-keys.ts";
import { signNote } from "../../src/log/note-signatures.ts";
import { bundlePath, tilePath } from "../../src/log/tile-path.ts";
import {
  allTiles,
  joinHashes,
  rangeHashes,
  TILE_WIDTH,
  type Tile,
  TreeEdge,
} from "../../src/log/tiles.ts";
import type { LogSource } from "../../src/log/verify/source.ts";
import { RISK_TABLE } from "../../src/risk/measured-table.ts";

export const ORIGIN = "log.example/log/0123456789ab";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 5, 21);

/** Random whole numbers below n from a seed (Park and Miller, 1993). */
export function below(seed: number): (n: number) => number {
  let state = (seed % 2_147_483_646) + 1;
  return (n) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % n;
  };
}

/** A key from a seed. */
function keyOf(seed: string): KeyObject {
  // PKCS #8 of an Ed25519 seed (RFC 8410 section 7).
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const key = Buffer.concat([prefix, hash("sha256", seed, "buffer")]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}

const OURS = keyOf("log");
const OTHERS = generateKeyPairSync("ed25519").privateKey;

/** The key that signs, and what verifies it. */
export const VERIFIER = verifierText(noteSigner(ORIGIN, OURS));

/** Close of the session of a day, and when its run was logged. */
export const closeOf = (day: number) => START + day * DAY_MS;

const METHOD = methodLeaf(
  { market: "live", riskTable: RISK_TABLE, verdictDates: verdictDatesOf(START) },
  START - DAY_MS,
);

/** The entries of an honest log of several sessions. */
export function honestEntries(random: (n: number) => number, sessions: number): string[] {
  const classes = ["stock", "crypto"] as const;
  const entries = [METHOD];
  const covered = new Map<
    string,
    { readonly symbols: readonly string[]; readonly index: number }
  >();
  for (let day = 0; day < sessions; day++) {
    for (const assetClass of classes.slice(0, 1 + random(2))) {
      let universe = covered.get(assetClass);
      if (universe === undefined || random(5) === 0) {
        const symbols = Array.from({ length: 1 + random(6) }, (_, at) => `${assetClass[0]}${at}`);
        universe = { symbols, index: entries.length };
        covered.set(assetClass, universe);
        entries.push(...universeLeaves(assetClass, symbols));
      }
      const { symbols, index } = universe;
      const [run, close] = [entries.length, closeOf(day)];
      const results = symbols.length;
      entries.push(runLeaf({ assetClass, close, at: close + 1_000, universe: index, results }));
      entries.push(...symbols.map((symbol) => resultOf({ symbol, run, close }, random)));
    }
  }
  return entries;
}

function resultOf(
  { symbol, run, close }: { symbol: string; run: number; close: number },
  random: (n: number) => number,
): string {
  const scoreSmoothed = random(10_001) / 100;
  const signal = scoreSmoothed >= 70 ? "LONG" : scoreSmoothed <= 30 ? "SHORT" : "WAIT";
  const place = { kind: "signal", v: 1, run, symbol, close: new Date(close).toISOString() };
  if (random(20) === 0) return json({ ...place, status: "failed", why: "no_result" });
  const hashed = hash("sha256", `${symbol} ${run}`);
  return json({ ...place, status: "ok", signal, scoreSmoothed, factors: hashed, inputs: hashed });
}

export const json = (content: object): string => canonicalize(content) as string;

/** The files of a log, by path. */
export type Files = Map<string, Uint8Array>;

/** Everything that a log serves. @param key Signs its checkpoint. */
export function filesOf(entries: readonly string[], key: KeyObject = OURS): Files {
  const files: Files = new Map();
  const edge = new TreeEdge();
  const tiles = new Map<string, Uint8Array>();
  for (const entry of entries) {
    for (const tile of edge.append(leafHash(entry))) {
      tiles.set(`${tile.level}/${tile.index}`, joinHashes(tile.hashes));
    }
  }
  for (const tile of allTiles(edge.size)) {
    const bytes =
      tiles.get(`${tile.level}/${tile.index}`) ?? joinHashes(edge.levels[tile.level] ?? []);
    files.set(`tile/${tilePath(tile)}`, bytes);
    if (tile.level > 0) continue;
    const first = tile.index * TILE_WIDTH;
    files.set(`tile/${bundlePath(tile)}`, bundleOf(entries.slice(first, first + tile.width)));
  }
  const text = checkpointText({ origin: ORIGIN, size: edge.size, root: edge.root() });
  files.set("checkpoint", Buffer.from(signNote(text, [noteSigner(ORIGIN, key)])));
  files.set("keys", Buffer.from(`${verifierText(noteSigner(ORIGIN, key))}\n`));
  return files;
}

function bundleOf(entries: readonly string[]): Uint8Array {
  const parts = entries.map((entry) => {
    const bytes = Buffer.from(entry);
    return Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 255), bytes]);
  });
  return Buffer.concat(parts);
}

/** Serves files of memory. */
export const sourceOf = (files: Files): LogSource => ({ read: async (path) => files.get(path) });

/** The proof of an entry, as a file. */
export async function proofOf(files: Files, entries: readonly string[], index: number) {
  const size = entries.length;
  const read = async (tile: Tile) => {
    const bytes = Buffer.from(files.get(`tile/${tilePath(tile)}`) ?? []);
    return Array.from({ length: tile.width }, (_, at) => bytes.subarray(32 * at, 32 * at + 32));
  };
  const proof = await rangeHashes(inclusionPath(index, size), size, read);
  const checkpoint = Buffer.from(files.get("checkpoint") ?? []).toString();
  return { index, proof, checkpoint, extra: Buffer.from(entries[index] ?? "") };
}

/** An attempt to pass off another history, against somebody who saw the log before. */
interface Forgery {
  readonly files: Files;
  /** The entry that has to be named; absent where no single one is to blame. */
  readonly entry?: number;
}

/** What a forger works on. */
interface Forged {
  /** The honest log. */
  readonly entries: readonly string[];
  /** Its size when the victim saw it last, at the end of a run, and when that was. */
  readonly seenSize: number;
  readonly seenAt: number;
  readonly random: (n: number) => number;
}

type Forger = (of: Forged) => Forgery;

/** Whoever forges has no key of the log, and serves changed entries below the honest tree. */
const servedOver = (honest: readonly string[], entries: readonly string[]): Files => {
  const files = filesOf(honest);
  for (const tile of allTiles(honest.length)) {
    if (tile.level > 0) continue;
    const first = tile.index * TILE_WIDTH;
    files.set(`tile/${bundlePath(tile)}`, bundleOf(entries.slice(first, first + tile.width)));
  }
  return files;
};

const kindOf = (entry: string): string => JSON.parse(entry).kind;

/** Indexes of the entries of a kind, from one on. */
const placesOf = (entries: readonly string[], kind: string, from = 0): readonly number[] =>
  entries.flatMap((entry, at) => (at >= from && kindOf(entry) === kind ? [at] : []));

const oneOf = <T>(list: readonly T[], random: (n: number) => number): T =>
  list[random(list.length)] as T;

/** Another text of the same kind, still canonical. */
const altered = (entry: string): string =>
  json({ ...JSON.parse(entry), ...(kindOf(entry) === "signal" ? { status: "stale" } : { x: 1 }) });

const changedAt = (entries: readonly string[], at: number, by: readonly string[]): string[] =>
  entries.toSpliced(at, 1, ...by);

const changedTile = (of: Forged, change: (bytes: Buffer) => Buffer): Forgery => {
  const files = filesOf(of.entries);
  const paths = [...files.keys()].filter((path) => /^tile\/\d/.test(path));
  const path = oneOf(paths, of.random);
  files.set(path, change(Buffer.from(files.get(path) ?? [])));
  return { files };
};

/** Every kind of forgery. The last four have the key of the log: only who saw it before finds them. */
export const forgers: Readonly<Record<string, Forger>> = {
  altered({ entries, random }) {
    const entry = random(entries.length);
    const changed = changedAt(entries, entry, [altered(entries[entry] ?? "")]);
    return { files: servedOver(entries, changed), entry };
  },
  dropped({ entries, random }) {
    const entry = random(entries.length);
    return { files: servedOver(entries, changedAt(entries, entry, [])), entry };
  },
  inserted({ entries, random }) {
    const entry = random(entries.length);
    const by = [altered(entries[entry] ?? ""), entries[entry] ?? ""];
    return { files: servedOver(entries, changedAt(entries, entry, by)), entry };
  },
  reordered({ entries, random }) {
    const entry = random(entries.length - 1);
    const pair = entries.slice(entry, entry + 2).reverse();
    return { files: servedOver(entries, entries.toSpliced(entry, 2, ...pair)), entry };
  },
  "another key": ({ entries }) => ({ files: filesOf(entries, OTHERS) }),
  "truncated tile": (of) =>
    changedTile(of, (bytes) => bytes.subarray(0, bytes.length - 1 - of.random(bytes.length))),
  "swapped tile": (of) => changedTile(of, (bytes) => Buffer.from(bytes).reverse()),
  "run without a result"({ entries, random, seenSize }) {
    const runs = placesOf(entries, "run", seenSize);
    const entry = oneOf(runs, random);
    return { files: filesOf(changedAt(entries, entry + 1, [])), entry };
  },
  "dated back"({ entries, random, seenSize, seenAt }) {
    const entry = oneOf(placesOf(entries, "run", seenSize), random);
    const at = new Date(seenAt - DAY_MS * (1 + random(5))).toISOString();
    const back = json({ ...JSON.parse(entries[entry] ?? ""), at });
    return { files: filesOf(changedAt(entries, entry, [back])), entry };
  },
  fork({ entries, random, seenSize }) {
    const at = random(seenSize);
    return { files: filesOf(changedAt(entries, at, [altered(entries[at] ?? "")])) };
  },
  rollback({ entries, random, seenSize }) {
    const runs = placesOf(entries, "run").filter((run) => run < seenSize && run > 2);
    const size = runs.length === 0 ? 1 : oneOf(runs, random);
    return { files: filesOf(entries.slice(0, size)), entry: size };
  },
};
