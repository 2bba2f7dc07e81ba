import { createPrivateKey, generateKeyPairSync, hash, type KeyObject } from "node:crypto";
import canonicalize from "canonicalize";
import { liveClaimTerms } from "../../src/grading/live-claim.ts";
import { trackRecordTerms } from "../../src/grading/track-record.ts";
import {
  claimLeaf,
  methodLeaf,
  outcomeLeaf,
  runLeaf,
  type SettlementOutcome,
  settlementLeaf,
  universeLeaves,
} from "../../src/log/leaves.ts";
import type { SettlementMarket } from "../../src/log/outcomes.ts";
import type { Instrument } from "../../src/market/instrument.ts";
import type { Bar } from "../../src/market/records.ts";
import { RISK_TABLE } from "../../src/risk/measured-table.ts";
import { horizonSigma } from "../../src/risk/report-days.ts";
import { checkpointText } from "../../src/tree/checkpoint.ts";
import { inclusionPath, leafHash } from "../../src/tree/merkle.ts";
import { createLogNoteSigner, verifierText } from "../../src/tree/note-keys.ts";
import { signNote } from "../../src/tree/note-signatures.ts";
import { entryBundlePath, tilePath } from "../../src/tree/tile-path.ts";
import {
  allTiles,
  joinHashes,
  rangeHashes,
  TILE_WIDTH,
  type Tile,
  TileNodes,
  TreeEdge,
} from "../../src/tree/tiles.ts";
import type { LogSource } from "../../src/tree/tree-source.ts";

export const ORIGIN = "log.example/log/0123456789ab";

export const json = (content: object): string => canonicalize(content) as string;

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 5, 21);

/** Pseudorandom whole numbers below n, from a seed (Park and Miller, 1993). */
export function randomBelow(seed: number): (n: number) => number {
  let state = (seed % 2_147_483_646) + 1;
  return (n) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % n;
  };
}

/** Derives an Ed25519 key from a seed text. */
function keyOf(seed: string): KeyObject {
  // PKCS #8 of an Ed25519 seed (RFC 8410 section 7).
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const key = Buffer.concat([prefix, hash("sha256", seed, "buffer")]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}

const OURS = keyOf("log");
const OTHERS = generateKeyPairSync("ed25519").privateKey;

/** The verifier key of the honest log, as text. */
export const VERIFIER = verifierText(createLogNoteSigner(ORIGIN, OURS));

/** Close of the session of a day, Unix milliseconds; the run is logged one second later. */
export const closeOf = (day: number) => START + day * DAY_MS;

/** Horizons in sessions, so short that short histories have settlements. */
const HORIZONS = [1, 2];

const METHOD = withHorizons(
  methodLeaf(
    { market: "live", riskTable: RISK_TABLE, record: trackRecordTerms(START) },
    START - DAY_MS,
  ),
);

const CLAIM = claimLeaf(liveClaimTerms(START - DAY_MS), START - DAY_MS);

function withHorizons(method: string): string {
  const leaf = JSON.parse(method);
  const horizons = { stock: HORIZONS, etf: HORIZONS, crypto: HORIZONS };
  return json({ ...leaf, record: { ...leaf.record, horizons } });
}

/** Maximum number of instruments of a class. */
const MOST = 4;

/** Logarithmic total return of an instrument on a day. */
const moveOf = (symbol: string, day: number): number =>
  Math.sin(day * 12.9898 + symbol.charCodeAt(0) * 78.233 + Number(symbol.slice(1)) * 37.719) / 20;

/**
 * The prices behind the logged outcomes: every instrument trades every day. @param days Number of
 * days.
 */
export function pricesOver(days: number): SettlementMarket {
  const records = (["stock", "crypto"] as const).flatMap((assetClass) =>
    Array.from({ length: MOST }, (_, at) => {
      const symbol = `${assetClass[0]}${at}`;
      const instrument = { symbol, assetClass } as Instrument;
      return { instrument, bars: Array.from({ length: days }, (_, day) => barOf(symbol, day)) };
    }),
  );
  return { dayMs: DAY_MS, recordsUntil: () => records };
}

function barOf(symbol: string, day: number): Bar {
  const session = new Date(closeOf(day)).toISOString().slice(0, 10);
  const prices = { open: 1, high: 1, low: 1, close: 1, volume: 1, dividend: 0, split: 1 };
  return { session, availableAt: closeOf(day), ...prices, logReturn: moveOf(symbol, day) };
}

/** A run in a generated history. */
export interface MadeRun {
  readonly index: number;
  readonly day: number;
  readonly assetClass: "stock" | "crypto";
  readonly symbols: readonly string[];
  /** Number of horizons that are already settled. */
  settled: number;
}

/** Options of a generated history; by default, everything is logged. */
interface Told {
  /** Whether runs of this day are logged. */
  readonly isLogged?: (day: number) => boolean;
  /** Whether outcomes of this run are logged. */
  readonly isSettled?: (run: MadeRun) => boolean;
}

/** Generates the entries of an honest log over several sessions. */
export function honestEntries(
  random: (n: number) => number,
  sessions: number,
  { isLogged = () => true, isSettled = () => true }: Told = {},
): string[] {
  const classes = ["stock", "crypto"] as const;
  const entries = [METHOD, CLAIM];
  const runs: MadeRun[] = [];
  const covered = new Map<
    string,
    { readonly symbols: readonly string[]; readonly index: number }
  >();
  for (let day = 0; day < sessions; day++) {
    for (const assetClass of isLogged(day) ? classes.slice(0, 1 + random(2)) : []) {
      let universe = covered.get(assetClass);
      if (universe === undefined || random(5) === 0) {
        const symbols = Array.from(
          { length: 1 + random(MOST) },
          (_, at) => `${assetClass[0]}${at}`,
        );
        universe = { symbols, index: entries.length };
        covered.set(assetClass, universe);
        entries.push(...universeLeaves(assetClass, symbols));
      }
      const { symbols, index } = universe;
      const [run, close] = [entries.length, closeOf(day)];
      const results = symbols.length;
      entries.push(runLeaf({ assetClass, close, at: close + 1_000, universe: index, results }));
      entries.push(...symbols.map((symbol) => resultOf({ symbol, run, close }, random)));
      runs.push({ index: run, day, assetClass, symbols, settled: 0 });
      settle(entries, runs, isSettled);
    }
  }
  return entries;
}

/** Appends the settlements that the newest run makes due. */
function settle(
  entries: string[],
  runs: readonly MadeRun[],
  isSettled: (run: MadeRun) => boolean,
): void {
  const { day: today, assetClass } = runs.at(-1) as MadeRun;
  const ofClass = runs.filter((run) => run.assetClass === assetClass);
  for (const [place, run] of ofClass.entries()) {
    const horizon = HORIZONS[run.settled];
    if (horizon === undefined || ofClass.length - 1 - place < horizon + 2) continue;
    if (!isSettled(run)) continue;
    run.settled += 1;
    const settlement = entries.length;
    const { index, day, symbols } = run;
    const manifest = { assetClass, run: index, horizon, results: symbols.length };
    const [close, entry, exit] = [day, day + 1, day + 1 + horizon].map(closeOf) as [
      ...[number, number, number],
    ];
    const [coveredAt, at] = [close + 2_000, closeOf(today) + 2_000];
    entries.push(settlementLeaf({ ...manifest, close, entry, exit, coveredAt, at }));
    const outcomes = symbols.map((symbol, nth) => {
      const signal = index + 1 + nth;
      const outcome = outcomeOf(entries[signal] ?? "", { symbol, day, horizon });
      return outcomeLeaf(outcome, { settlement, signal, symbol });
    });
    entries.push(...outcomes);
  }
}

function outcomeOf(
  statement: string,
  { symbol, day, horizon }: { symbol: string; day: number; horizon: number },
): SettlementOutcome {
  if (JSON.parse(statement).status === "failed") return { status: "failed" };
  const sum = (from: number) =>
    Array.from({ length: horizon }, (_, at) => moveOf(symbol, from + 1 + at)).reduce(
      (a, b) => a + b,
    );
  return { status: "settled", followed: sum(day + 1), fromClose: sum(day), lastPrice: null };
}

function resultOf(
  { symbol, run, close }: { symbol: string; run: number; close: number },
  random: (n: number) => number,
): string {
  const scoreSmoothed = random(10_001) / 100;
  const signal = scoreSmoothed >= 70 ? "LONG" : scoreSmoothed <= 30 ? "SHORT" : "WAIT";
  // The runs use the versions of the leaf format in turn.
  const tables = RISK_TABLE.classes[symbol.startsWith("s") ? "stock" : "crypto"];
  const sigmas = tables.map((table) => horizonSigma(0.01, table, random(12)));
  const v = 2 + (run % 2);
  const place = { kind: "signal", v, run, symbol, close: new Date(close).toISOString() };
  if (random(20) === 0) return json({ ...place, status: "failed", why: "no_result" });
  const hashed = hash("sha256", `${symbol} ${run}`);
  const scores = { signal, scoreSmoothed, scoreRaw: scoreSmoothed, coverage: 1, sigmas };
  const peers = v === 3 ? peersOf(symbol, random) : {};
  return json({ ...place, status: "ok", ...scores, ...peers, factors: hashed, inputs: hashed });
}

/** The members of version 3 of the leaf format; those of a coin are `null`. */
function peersOf(symbol: string, random: (n: number) => number) {
  const candidates = { "method-2": random(400) / 100 - 2 };
  if (!symbol.startsWith("s")) {
    return { candidates, parts: null, percentiles: null, sector: null, steadiness: null };
  }
  const percentile = () => random(10_001) / 100;
  const part = () => ({ value: 0.1, relative: 0.02, rank: 1 + random(4), of: 4 });
  return {
    candidates,
    parts: { surprise: null, residualMomentum: part(), reversal: part() },
    percentiles: { beta: percentile(), volatility: percentile(), dollarVolume: percentile() },
    sector: `Sector ${random(2)}`,
    steadiness: percentile(),
  };
}

/** The served files of a log, by path. */
export type Files = Map<string, Uint8Array>;

/** Creates all served files of a log. @param key Key that signs the checkpoint. */
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
    files.set(`tile/${entryBundlePath(tile)}`, bundleOf(entries.slice(first, first + tile.width)));
  }
  const text = checkpointText({ origin: ORIGIN, size: edge.size, root: edge.root() });
  files.set("checkpoint", Buffer.from(signNote(text, [createLogNoteSigner(ORIGIN, key)])));
  files.set("keys", Buffer.from(`${verifierText(createLogNoteSigner(ORIGIN, key))}\n`));
  return files;
}

function bundleOf(entries: readonly string[]): Uint8Array {
  const parts = entries.map((entry) => {
    const bytes = Buffer.from(entry);
    return Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 255), bytes]);
  });
  return Buffer.concat(parts);
}

/** A log source that reads files from memory. */
export const sourceOf = (files: Files): LogSource => ({ read: async (path) => files.get(path) });

/** Creates the proof file of an entry. */
export async function proofOf(files: Files, entries: readonly string[], index: number) {
  const size = entries.length;
  const read = async (tile: Tile) => {
    return new TileNodes(files.get(`tile/${tilePath(tile)}`) ?? Buffer.of());
  };
  const proof = await rangeHashes(inclusionPath(index, size), size, read);
  const checkpoint = Buffer.from(files.get("checkpoint") ?? []).toString();
  return { index, proof, checkpoint, extra: Buffer.from(entries[index] ?? "") };
}

/** A forged log, presented to a verifier that saw the honest log before. */
interface Forgery {
  readonly files: Files;
  /** Index of the entry that the verifier must report; absent: there is no single wrong entry. */
  readonly entry?: number;
}

/** Input of a forger. */
interface Forged {
  /** The honest log. */
  readonly entries: readonly string[];
  /**
   * Tree size at the end of the last run that the victim saw, and the instant at which they saw it,
   * Unix milliseconds. The victim is the verifier that saw the honest log before the forgery.
   */
  readonly seenSize: number;
  readonly seenAt: number;
  readonly random: (n: number) => number;
}

type Forger = (of: Forged) => Forgery;

/**
 * Serves changed entries under the unchanged tree, as a forger without the log's key would have to.
 */
const servedOver = (honest: readonly string[], entries: readonly string[]): Files => {
  const files = filesOf(honest);
  for (const tile of allTiles(honest.length)) {
    if (tile.level > 0) continue;
    const first = tile.index * TILE_WIDTH;
    files.set(`tile/${entryBundlePath(tile)}`, bundleOf(entries.slice(first, first + tile.width)));
  }
  return files;
};

const kindOf = (entry: string): string => JSON.parse(entry).kind;

/** Indexes of the entries of a kind, beginning at `from`. */
const placesOf = (entries: readonly string[], kind: string, from = 0): readonly number[] =>
  entries.flatMap((entry, at) => (at >= from && kindOf(entry) === kind ? [at] : []));

const oneOf = <T>(list: readonly T[], random: (n: number) => number): T =>
  list[random(list.length)] as T;

/** Changes an entry, but keeps its kind and its canonical form. */
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

/**
 * Changes members of an entry. The forgers below apply it only to entries that the victim has not
 * seen.
 */
const rewritten = (entry: string, change: (leaf: Leaf) => object): string => {
  const leaf = JSON.parse(entry);
  return json({ ...leaf, ...change(leaf) });
};

/** The members of an entry which the forgers change. */
interface Leaf {
  readonly run: number;
  readonly signal: number;
  readonly results: number;
  readonly followed: number;
  readonly settlement: number;
}

/** Index of a random settlement that the victim has not seen. */
const unseenSettlement = ({ entries, random, seenSize }: Forged): number =>
  oneOf(placesOf(entries, "settlement", seenSize), random);

/** The entries of a settlement: its manifest and its outcomes. */
const settlementAt = (entries: readonly string[], at: number): readonly string[] =>
  entries.slice(at, at + 1 + (JSON.parse(entries[at] ?? "") as Leaf).results);

/**
 * All kinds of forgery. From "run without a result" on, the forger has the log's key; only a
 * verifier that saw the log before, or that knows the prices or the rules, can detect these
 * forgeries.
 */
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
  "outcome altered"(of) {
    const { entries, random, seenSize } = of;
    const settled = placesOf(entries, "outcome", seenSize).filter((at) =>
      entries[at]?.includes('"settled"'),
    );
    const at = settled.length === 0 ? unseenSettlement(of) : oneOf(settled, random);
    const change = ({ followed, results }: Leaf) =>
      followed === undefined ? { results: results + 1 } : { followed: followed + 0.001 };
    return { files: filesOf(entries.with(at, rewritten(entries[at] ?? "", change))), entry: at };
  },
  "outcome dropped"(of) {
    const entry = unseenSettlement(of);
    const { results } = JSON.parse(of.entries[entry] ?? "") as Leaf;
    return { files: filesOf(of.entries.toSpliced(entry + 1 + of.random(results), 1)), entry };
  },
  "outcomes swapped"(of) {
    const { entries, random } = of;
    const entry = unseenSettlement(of);
    const { results } = JSON.parse(entries[entry] ?? "") as Leaf;
    const at = entry + 1 + random(results);
    const other = entry + 1 + ((at - entry) % results);
    // Replaces the reference to a signal, so that the outcome of one signal is attributed to
    // another.
    const told = (from: number, as: number) =>
      rewritten(entries[from] ?? "", ({ signal }) => ({
        signal: from === as ? signal + 1 : signal,
      }));
    const swapped = entries.with(at, told(other, at)).with(other, told(at, other));
    return { files: filesOf(swapped), entry };
  },
  "settled twice"(of) {
    const at = unseenSettlement(of);
    const again = settlementAt(of.entries, at);
    const entry = at + again.length;
    return { files: filesOf(of.entries.toSpliced(entry, 0, ...again)), entry };
  },
  "outcomes of another run"(of) {
    const entry = unseenSettlement(of);
    const { run } = JSON.parse(of.entries[entry] ?? "") as Leaf;
    const other = oneOf(
      placesOf(of.entries, "run").filter((at) => at !== run && at < entry),
      of.random,
    );
    const changed = rewritten(of.entries[entry] ?? "", () => ({ run: other }));
    return { files: filesOf(of.entries.with(entry, changed)), entry };
  },
  "entry price chosen"(of) {
    const stocks = placesOf(of.entries, "settlement", of.seenSize).filter((at) =>
      of.entries[at]?.includes('"stock"'),
    );
    const entry = oneOf(stocks, of.random);
    const later = (text: string) => new Date(Date.parse(text) + DAY_MS).toISOString();
    const changed = rewritten(of.entries[entry] ?? "", (leaf) => {
      const { entry: from, exit } = leaf as unknown as Record<string, string>;
      return { entry: later(from ?? ""), exit: later(exit ?? "") };
    });
    return { files: filesOf(of.entries.with(entry, changed)), entry };
  },
  "covered in time, as is said"(of) {
    const entry = unseenSettlement(of);
    const changed = rewritten(of.entries[entry] ?? "", (leaf) => {
      const { close } = leaf as unknown as Record<string, string>;
      return { coveredAt: new Date(Date.parse(close ?? "") - DAY_MS).toISOString() };
    });
    return { files: filesOf(of.entries.with(entry, changed)), entry };
  },
};
