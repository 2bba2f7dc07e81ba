import { readFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import type { Logger } from "pino";
import type { RecordTerms } from "../grading/track-record.ts";
import type { Scoring } from "../ingest/create.ts";
import { type Loop, schedule, startLoop } from "../lib/loop.ts";
import { AssetClass, type Instrument } from "../market/instrument.ts";
import { riskTableOf } from "../risk/measured-table.ts";
import type { State } from "../state.ts";
import type { LeaderJob } from "../store/maintenance.ts";
import { type ClassRecord, GradedRuns } from "./graded-runs.ts";
import { Committer } from "./leaves.ts";
import { LogHead } from "./log-head.ts";
import { LogReader } from "./log-reader.ts";
import { LogSigner } from "./log-signer.ts";
import { LogStore } from "./log-store.ts";
import { LogWriter } from "./log-writer.ts";
import { LoggedRuns } from "./logged-runs.ts";
import { SIGNATURE_TYPES, verifierOf, verifierText } from "./note-keys.ts";
import { signersOf } from "./signers.ts";
import { type Policy, readPolicy } from "./witness/policy.ts";
import { WitnessClient } from "./witness/witness-client.ts";

/** Longest time for which a start catches up before the service answers, in milliseconds. A new log
 *  always logs its first sessions before the first answer. */
const START_MS = 250;

/** Interval of checks for sessions that closed and are not logged yet, in milliseconds. */
const WRITE_EVERY_MS = 250;

/** Interval of checks for checkpoints of other processes, in milliseconds, since announcements may
 *  be lost. */
const RELOAD_EVERY_MS = 5_000;

/** Interval of checks for checkpoints that witnesses have not cosigned, in milliseconds. */
const WITNESS_EVERY_MS = 500;

/** Dependencies of the signal log. */
export interface SignalLogOptions {
  readonly state: State;
  readonly scoring: Scoring;
  /** DATA_DIR. */
  readonly folder: string;
  /** File of the policy with the witnesses; `undefined` if there are none. */
  readonly witnessesFile: string | undefined;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => Date;
  readonly log: Logger;
}

/** A class over one horizon. */
interface RecordOfClass extends ClassRecord {
  /**
   * Earliest time at which the first run can be settled, Unix milliseconds on the market's clock.
   */
  readonly expectedAt: number;
  /**
   * Close of the oldest run of the class whose outcomes are incomplete or can still be corrected, Unix
   * milliseconds; `null` if there is none.
   */
  readonly openSince: number | null;
}

/** Outcomes of all logged statements. Instants are Unix milliseconds on the market's clock. */
export interface TrackRecord {
  /** Name of the log. */
  readonly origin: string;
  readonly beganAt: number;
  /** Number of entries from which the records are computed. */
  readonly size: number;
  readonly terms: RecordTerms;
  readonly records: readonly RecordOfClass[];
}

/** The log of all decisions, in one process of a service. */
export class SignalLog {
  readonly reader: LogReader;
  readonly committer: Committer;
  /** Jobs of the leader that write the log and get it witnessed. */
  readonly leaderJobs: readonly LeaderJob[];
  readonly #store: LogStore;
  readonly #runs: LoggedRuns;
  readonly #graded: GradedRuns;
  readonly #signer: LogSigner;
  readonly #writer: LogWriter;
  readonly #witnesses: WitnessClient | undefined;
  readonly #options: SignalLogOptions;
  /** Why the leader does not sign. */
  #refusal: string | undefined;
  #loop: Loop | undefined;
  #unsubscribe = () => {};

  private constructor(options: SignalLogOptions, policy: Policy | undefined) {
    const { state, scoring, folder, baseUrl, log } = options;
    const { snapshots, market, recordableUntil } = scoring;
    const store = new LogStore(state.store, policy !== undefined);
    const head = new LogHead(folder);
    const now = () => options.now().getTime();
    const isShared = state.store.engine === "postgres";
    this.#options = options;
    this.#store = store;
    this.#runs = new LoggedRuns(store);
    this.#graded = new GradedRuns(store);
    this.reader = new LogReader(store);
    this.committer = new Committer(state.deriveKey("signal-log-salts"));
    this.#witnesses =
      policy &&
      new WitnessClient({
        store,
        policy,
        now,
        fetch,
        verifiersOf: (origin) => signersOf(state.keyring, origin).map(verifierOf),
        onProblem: (witness, problem) =>
          log.warn({ witness, problem }, "a witness does not cosign the signal log"),
      });
    this.#signer = new LogSigner({ store, head, keyring: state.keyring, isShared, now });
    this.#writer = new LogWriter({
      store,
      head,
      witnesses: this.#witnesses,
      signer: this.#signer,
      committer: this.committer,
      snapshots,
      knownUntil: recordableUntil,
      market,
      riskTable: riskTableOf(market.source),
      marketNow: scoring.marketNow,
      host: new URL(baseUrl).host,
      now,
      monotonic: () => performance.now(),
      onRefusal: (reason) => log.error({ reason }, "the signal log is not signed any more"),
    });
    const { writer, witnesses } = { writer: this.#writer, witnesses: this.#witnesses };
    this.leaderJobs = [
      {
        tick: () => writer.tick(),
        everyMs: WRITE_EVERY_MS,
        // Signals change when a session has closed.
        onWork: scoring.updates.onUpdate,
      },
      ...(witnesses ? [{ tick: () => witnesses.tick(), everyMs: WITNESS_EVERY_MS }] : []),
    ];
  }

  /**
   * Opens the log of a market whose time passes; a market that is fixed at one instant has none. With an
   * embedded store, the only process logs the newest sessions at once, so that the first answers
   * refer to them.
   */
  static async open(options: SignalLogOptions): Promise<SignalLog | undefined> {
    const { scoring, state, log } = options;
    if (scoring.market.mode === "files") return undefined;
    const { witnessesFile: path } = options;
    const policy = path === undefined ? undefined : await witnessesIn(path);
    const opened = new SignalLog(options, policy);
    try {
      if (state.store.engine === "embedded" && !scoring.isWarm()) {
        const { mode } = scoring.market;
        const isNew = mode === "replay" || (await opened.#store.state()) === undefined;
        const until = performance.now() + (isNew ? Number.POSITIVE_INFINITY : START_MS);
        while ((await opened.#writer.tick()) > 0 && performance.now() < until);
      }
      await opened.#reload();
      // A replay waits for the log, since statements logged after their returns began would count
      // as late. With several processes, only one writes the log.
      if (state.store.engine === "embedded") scoring.waitFor(() => opened.#writer.isBehind);
    } catch (error) {
      log.error({ err: error }, "the signal log could not be read or written at the start");
    }
    return opened;
  }

  /** Starts to follow the checkpoints that other processes sign. */
  start(): void {
    const { log } = this.#options;
    const onError = (error: unknown) =>
      log.error({ err: error }, "the signal log could not be read");
    const tick = async () => {
      const added = await this.#reload();
      await this.#signer.keep();
      return added;
    };
    this.#loop = startLoop({ tick, everyMs: RELOAD_EVERY_MS, onError, schedule });
    this.#unsubscribe = this.#store.onSigned(this.#loop.wake);
  }

  async #reload(): Promise<number> {
    this.#refusal = await this.#store.refusal();
    // Tiles in memory may be of a log that another one has replaced.
    await this.reader.checkpoint();
    await this.#graded.reload();
    return this.#runs.reload();
  }

  /** Outcomes of all logged statements; `undefined` before the first checkpoint. */
  async trackRecord(): Promise<TrackRecord | undefined> {
    const { market, marketNow } = this.#options.scoring;
    const state = (await this.#store.state())?.value;
    const checkpoint = await this.reader.checkpoint();
    // A new log has no checkpoint yet; the stored one belongs to the log that it replaces.
    if (state === undefined || checkpoint?.id !== state.id) return undefined;
    const { origin, beganAt, record: terms } = state;
    // Five sessions a week, unless there is one every day.
    const daysOf = (assetClass: AssetClass) =>
      assetClass === "crypto" || market.barsDue === undefined ? 1 : 7 / 5;
    const { size } = this.#graded;
    const records: RecordOfClass[] = [];
    for (const assetClass of AssetClass.options) {
      const openSince = state.unsettled.find((run) => run.assetClass === assetClass)?.close ?? null;
      for (const horizon of terms.horizons[assetClass] ?? []) {
        const days = Math.ceil((horizon + 2) * daysOf(assetClass));
        const record = this.#graded.record(assetClass, horizon, terms, marketNow());
        records.push({ ...record, expectedAt: beganAt + days * market.dayMs, openSince });
        // Each takes some time to compute; other work runs in between.
        await setImmediate();
      }
    }
    // Some of the records contain entries that were read in the meantime; unchanged records are
    // cached.
    if (this.#graded.size !== size) return this.trackRecord();
    return { origin, beganAt, size, terms, records };
  }

  /** Increases whenever `indexOf` may find more. */
  edition(): number {
    return this.#runs.edition;
  }

  /** Index of the leaf with an instrument's signal at the close of a session (Unix milliseconds). */
  indexOf(instrument: Instrument, close: number): number | undefined {
    return this.#runs.indexOf(instrument, close);
  }

  /** The public keys that verify checkpoints, newest first (C2SP signed-note, "Verifier keys"). */
  verifiersOf(origin: string): readonly string[] {
    return signersOf(this.#options.state.keyring, origin).map(verifierText);
  }

  /** The public keys that verify the short signatures. */
  shortVerifiersOf(origin: string): readonly string[] {
    const signers = signersOf(this.#options.state.keyring, origin);
    return signers.filter(({ type }) => type === SIGNATURE_TYPES.ed25519).map(verifierText);
  }

  /** Why the leader does not sign the log, or why witnesses do not cosign it; `undefined` without a
   *  fault. */
  get fault(): string | undefined {
    return this.#refusal === undefined ? this.#witnesses?.fault : `not signed: ${this.#refusal}`;
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#loop?.stop();
  }
}

/** @throws {Error} If the file of `WITNESSES` cannot be read or is not a policy. */
async function witnessesIn(path: string): Promise<Policy> {
  const text = await readFile(path, "utf8").catch((cause) => {
    throw new Error(`WITNESSES: ${path} cannot be read.`, { cause });
  });
  return readPolicy(text, `WITNESSES: ${path}`);
}
