import { createPrivateKey } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** Snapshots and prices in memory, added session by session. */
export class Sessions {
  readonly #bySymbol = new Map<string, PastSnapshot[]>();
  readonly #records = new Map<string, InstrumentRecords & { readonly bars: Bar[] }>();
  readonly #figures: Fundamental[] = [];
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
    recordsUntil: () => [...this.#records.values()],
  };

  readonly knownUntil = () => this.#until;

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

/** Creates a folder for DATA_DIR, which is removed after the last test of the file. */
export function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "log-"));
  atFileEnd(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

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
    reader: new LogReader(store),
    runs: new LoggedRuns(store),
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
