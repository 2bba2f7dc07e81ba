import { createPrivateKey } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startNewLogCommand } from "../../src/cli/commands/log-new.ts";
import { keyUses } from "../../src/keys/key-uses.ts";
import type { Keyring } from "../../src/keys/keyring.ts";
import { LastCheckpointFile } from "../../src/log/last-checkpoint-file.ts";
import { Committer } from "../../src/log/leaves.ts";
import { LogReader } from "../../src/log/log-reader.ts";
import { LogSigner } from "../../src/log/log-signer.ts";
import { type LogPhase, phaseOf } from "../../src/log/log-state.ts";
import { LogStore } from "../../src/log/log-store.ts";
import { LogWriter, type WriterOptions } from "../../src/log/log-writer.ts";
import { LoggedRuns } from "../../src/log/logged-runs.ts";
import type { WitnessPolicy } from "../../src/log/witness/policy.ts";
import { WitnessClient } from "../../src/log/witness/witness-client.ts";
import type { AssetClass, Instrument } from "../../src/market/instrument.ts";
import type { Bar, Fundamental, InstrumentRecords } from "../../src/market/records.ts";
import { RISK_TABLE } from "../../src/risk/measured-table.ts";
import type { PastSnapshot } from "../../src/score/snapshot.ts";
import type { Store } from "../../src/store/port/store.ts";
import { createLogNoteSigner, parseLogVerifier, verifierText } from "../../src/tree/note-keys.ts";
import { atFileEnd } from "./file-end.ts";

export const DAY_MS = 86_400_000;

/** Close of a day's session, Unix milliseconds. */
export const closeOf = (day: number) => Date.UTC(2026, 0, 1, 21) + day * DAY_MS;

/** Days between two of which the late prices of an instrument belong, the first excluded. */
const LATE_DAYS = { after: 2, until: 6 };

/** Day on which late prices become known: two runs have been settled without them. */
const LATE_KNOWN_DAY = 9;

/** Snapshots and prices in memory, added session by session. */
export class Sessions {
  readonly #bySymbol = new Map<string, PastSnapshot[]>();
  readonly #records = new Map<string, InstrumentRecords & { readonly bars: Bar[] }>();
  readonly #figures: Fundamental[] = [];
  #late: string | undefined;
  #until = 0;

  /** Closes a session for some instruments of an asset class. */
  close(day: number, assetClass: AssetClass, symbols: readonly string[]): void {
    for (const [at, symbol] of symbols.entries()) {
      const list = this.#bySymbol.get(symbol) ?? [];
      list.push(snapshotOf(symbol, assetClass, closeOf(day), (day * 37 + at * 13) % 101));
      this.#bySymbol.set(symbol, list);
      this.trade(day, assetClass, symbol);
    }
    this.#until = Math.max(this.#until, closeOf(day));
  }

  /** Adds a bar for an instrument; the returns repeat every 17 days. */
  trade(day: number, assetClass: AssetClass, symbol: string): void {
    const instrument = instrumentOf(symbol, assetClass);
    const { bars } = this.#records.get(symbol) ?? { bars: [] as Bar[] };
    const move =
      (((day * 7 + symbol.length * 3 + symbol.charCodeAt(symbol.length - 1)) % 17) - 8) / 400;
    const close = (bars.at(-1)?.close ?? 100) * Math.exp(move);
    bars.push({
      ...{ session: new Date(closeOf(day)).toISOString().slice(0, 10), availableAt: closeOf(day) },
      ...{ open: close, high: close, low: close, close, volume: 1_000, dividend: 0, split: 1 },
      logReturn: bars.length === 0 ? null : move,
    });
    this.#records.set(symbol, { instrument, bars, fundamentals: this.#figures });
  }

  /**
   * Adds four quarterly filings for all companies, so that the next report is expected at the close
   * of this day.
   */
  expectReports(day: number): void {
    for (let quarter = 0; quarter < 4; quarter++) {
      const availableAt = closeOf(day - 364 + 91 * quarter);
      const periodEnd = availableAt - 35 * DAY_MS;
      this.#figures.push({ metric: "netIncome", periodEnd, availableAt, value: 1 });
    }
  }

  readonly market: WriterOptions["market"] = {
    mode: "live",
    dayMs: DAY_MS,
    recordsUntil: () => [...this.#records.values()].map((one) => this.#knownOf(one)),
  };

  readonly knownUntil = () => this.#until;

  /**
   * Makes the prices of an instrument on four days late: two runs are settled without them, and are
   * corrected when they are looked at again.
   */
  delayPrices(symbol: string): void {
    this.#late = symbol;
  }

  #knownOf(records: InstrumentRecords): InstrumentRecords {
    const isKnown = this.#until >= closeOf(LATE_KNOWN_DAY);
    if (isKnown || records.instrument.symbol !== this.#late) return records;
    const { after, until } = LATE_DAYS;
    const isLate = ({ availableAt }: Bar) =>
      availableAt > closeOf(after) && availableAt <= closeOf(until);
    return { ...records, bars: [...records.bars].filter((bar) => !isLate(bar)) };
  }

  /** Drops the newest snapshot of an instrument, as a crash would. */
  forget(symbol: string): void {
    const list = this.#bySymbol.get(symbol) ?? [];
    this.#bySymbol.set(symbol, list.slice(0, -1));
  }

  readonly snapshots = {
    allNewest: () => [...this.#bySymbol.keys()].sort().flatMap((one) => this.#of(one).at(-1) ?? []),
    history: (symbol: string, from: number, to: number) =>
      this.#of(symbol).filter(({ at }) => at >= from && at <= to),
    lastAt: (symbol: string, at: number) => this.#of(symbol).findLast((one) => one.at <= at),
  } as unknown as WriterOptions["snapshots"];

  #of(symbol: string): PastSnapshot[] {
    return this.#bySymbol.get(symbol) ?? [];
  }
}

const instrumentOf = (symbol: string, assetClass: AssetClass) =>
  ({
    ...{ symbol, name: symbol, assetClass, exchange: null, currency: "USD" },
    sector: null,
  }) as unknown as Instrument;

function snapshotOf(
  symbol: string,
  assetClass: AssetClass,
  at: number,
  score: number,
): PastSnapshot {
  const inputs = ["return1m", "return6m", "volatility"].map((name) => ({
    name,
    value: score / 7,
    unit: "ratio",
    z: score / 50 - 1,
    weight: 1 / 3,
    observedAt: at,
  }));
  const factor = {
    z: score / 50 - 1,
    confidence: 0.7,
    status: "ok",
    asOf: at,
    staleAfter: null,
    weight: 0.25,
    contribution: score / 4 - 12.5,
    inputs,
  } as const;
  return {
    instrument: instrumentOf(symbol, assetClass),
    at,
    status: "ok",
    score,
    confidence: 0.71,
    coverage: 1,
    signal: {
      direction: score >= 70 ? "LONG" : score <= 30 ? "SHORT" : "WAIT",
      since: at,
      previous: null,
      smoothed: score,
      frozen: false,
      forcedWait: null,
    },
    missingFactors: [],
    price: { value: 100, at },
    factors: { momentum: factor, valuation: factor, social: factor, darkpool: factor },
  } as unknown as PastSnapshot;
}

/** Keys of the log, in the form of the keyring. */
const KEYS = {
  "log-signing": { jwk: { ...keyUses["log-signing"].generate(), kid: "ed25519" } },
  "log-signing-ml-dsa": { jwk: { ...keyUses["log-signing-ml-dsa"].generate(), kid: "ml-dsa" } },
};

type LogKeyUse = keyof typeof KEYS;

/** A keyring with only these keys. */
const KEYRING = { keys: (use: LogKeyUse) => [KEYS[use]] } as unknown as Keyring;

/** Verifier key of the logs that these tests create. */
export const verifierTextOf = (origin: string, use: LogKeyUse = "log-signing"): string =>
  verifierText(
    createLogNoteSigner(origin, createPrivateKey({ key: { ...KEYS[use].jwk }, format: "jwk" })),
  );

export const verifierOf = (origin: string) => parseLogVerifier(verifierTextOf(origin));

/** Replaces the log of a store by a new one, as the operator does who confirms it. */
export function startNewLog(store: Pick<Store, "records" | "archive">, yes = true) {
  const rotate = async () => "kid";
  const context = { store, now: () => 0, holder: "command", keyring: async () => ({ rotate }) };
  return startNewLogCommand.run({ yes }, context as never, () => {});
}

/** Creates a folder for DATA_DIR, which is removed after the last test of the file. */
export function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "log-"));
  atFileEnd(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The log of a store, with its writer. */
export type SignalLog = ReturnType<typeof signalLog>;

/** Creates the log of a store, with its writer. */
export function signalLog(
  on: Pick<Store, "records" | "archive">,
  sessions: Sessions,
  options: Partial<WriterOptions> & {
    readonly folder?: string;
    readonly isShared?: boolean;
    readonly policy?: WitnessPolicy;
  } = {},
) {
  const { folder = dataFolder(), isShared = false, policy, ...others } = options;
  const store = new LogStore(on, policy !== undefined);
  const head = new LastCheckpointFile(folder);
  const now = options.now ?? (() => sessions.knownUntil() + 1_000);
  const refusals: string[] = [];
  const missing: number[] = [];
  const problems: string[] = [];
  const witnesses =
    policy &&
    new WitnessClient({
      ...{ store, policy, now, fetch },
      verifiersOf: (origin) => [verifierOf(origin)],
      onProblem: (witness, problem) => problems.push(`${witness} ${problem}`),
    });
  const signer = new LogSigner({ store, head, keyring: KEYRING, isShared, now });
  const reader = new LogReader(store);
  /** All entries under the newest checkpoint. */
  const leaves = async (): Promise<readonly string[]> => {
    const { id = "", size = 0 } = (await reader.checkpoint()) ?? {};
    const read: string[] = [];
    while (read.length < size) {
      const width = Math.min(256 - (read.length % 256), size - read.length);
      const found = await store.entries(id, read.length, width);
      if (found.length === 0) throw new Error(`entry ${read.length} is missing`);
      read.push(...found);
    }
    return read;
  };
  const writer = new LogWriter({
    store,
    head,
    signer,
    witnesses,
    committer: new Committer(new Uint8Array(32)),
    snapshots: sessions.snapshots,
    knownUntil: sessions.knownUntil,
    market: sessions.market,
    riskTable: RISK_TABLE,
    marketNow: now,
    host: "log.example",
    now,
    monotonic: () => 0,
    onRefusal: (reason) => refusals.push(reason),
    onMissingRun: ({ close }) => missing.push(close),
    ...others,
  });
  return {
    store,
    head,
    writer,
    signer,
    refusals,
    missing,
    problems,
    witnesses,
    reader,
    runs: new LoggedRuns(store),
    leaves,
    /** The entries, parsed. */
    contents: async () => (await leaves()).map((leaf) => JSON.parse(leaf)),
    /** Writes until the log is in a phase. */
    async writeUntil(phase: LogPhase["is"]) {
      const reached = async () => {
        const state = await store.state();
        return state !== undefined && phaseOf(state.value).is === phase;
      };
      while (!(await reached())) await writer.tick();
    },
    /** Writes until nothing is left to do. */
    async settle() {
      while ((await writer.tick()) > 0);
      await witnesses?.tick();
    },
  };
}
