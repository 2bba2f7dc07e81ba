import { readFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import type { Logger } from "pino";
import { liveClaimFigures } from "../grading/live-claim.ts";
import type { ServedClaim, ServedTrackRecord, TrackRecord } from "../grading/log-record.ts";
import type { Scoring } from "../ingest/create.ts";
import type { Keyring } from "../keys/keyring.ts";
import { type Loop, scheduleTimer, startLoop } from "../lib/loop.ts";
import type { LeaderJob } from "../maintenance/maintenance.ts";
import { AssetClass, type Instrument } from "../market/instrument.ts";
import { runningMethod } from "../method/running.ts";
import { riskTableOf } from "../risk/measured-table.ts";
import type { Store } from "../store/port/store.ts";
import { SIGNATURE_TYPE_NUMBERS, verifierOf, verifierText } from "../tree/note-keys.ts";
import { signersOf } from "../tree/signers.ts";
import { GradedRuns } from "./graded-runs.ts";
import { LastCheckpointFile } from "./last-checkpoint-file.ts";
import { Committer } from "./leaves.ts";
import { LogReader } from "./log-reader.ts";
import { LogSigner } from "./log-signer.ts";
import { LogStore } from "./log-store.ts";
import { LogWriter } from "./log-writer.ts";
import { LoggedRuns } from "./logged-runs.ts";
import { parseWitnessPolicy, type WitnessPolicy } from "./witness/policy.ts";
import { WitnessClient } from "./witness/witness-client.ts";

/**
 * Maximum time that startup spends on catching up on the log before the service answers, in
 * milliseconds. A new log always logs its first sessions before the first answer.
 */
const START_MS = 250;

/** Interval between checks for closed sessions that are not logged yet, in milliseconds. */
const WRITE_EVERY_MS = 250;

/**
 * Interval between checks for checkpoints of other processes, in milliseconds, since announcements
 * may be lost.
 */
const RELOAD_EVERY_MS = 5_000;

/** Interval between checks for checkpoints that witnesses have not cosigned, in milliseconds. */
const WITNESS_EVERY_MS = 500;

/** Dependencies of the signal log. */
interface SignalLogOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  /** Derives a key of 32 bytes for one purpose from the master key. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  readonly scoring: Scoring;
  /** Path of the data directory (DATA_DIR). */
  readonly folder: string;
  /** Path of the witness policy file; `undefined` without witnesses. */
  readonly witnessesFile: string | undefined;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => Date;
  readonly log: Logger;
}

/** The log of all decisions, as one process of the service sees it. */
export class SignalLog {
  readonly reader: LogReader;
  readonly committer: Committer;
  /** Jobs of the leader that write the log and collect cosignatures. */
  readonly leaderJobs: readonly LeaderJob[];
  readonly #store: LogStore;
  readonly #runs: LoggedRuns;
  readonly #graded: GradedRuns;
  readonly #signer: LogSigner;
  readonly #writer: LogWriter;
  readonly #witnesses: WitnessClient | undefined;
  readonly #options: SignalLogOptions;
  /** Why the leader does not sign the log; `undefined` if it may sign. */
  #refusal: string | undefined;
  #loop: Loop | undefined;
  #unsubscribe = () => {};

  private constructor(options: SignalLogOptions, policy: WitnessPolicy | undefined) {
    const { keyring, scoring, folder, baseUrl, log } = options;
    const { snapshots, market, recordableUntil } = scoring;
    const store = new LogStore(options.store, policy !== undefined);
    const head = new LastCheckpointFile(folder);
    const now = () => options.now().getTime();
    const isShared = options.store.engine === "postgres";
    this.#options = options;
    this.#store = store;
    this.#runs = new LoggedRuns(store);
    this.#graded = new GradedRuns(store);
    this.reader = new LogReader(store);
    this.committer = new Committer(options.deriveKey("signal-log-salts"));
    this.#witnesses =
      policy &&
      new WitnessClient({
        store,
        policy,
        now,
        fetch,
        verifiersOf: (origin) => signersOf(keyring, origin).map(verifierOf),
        onProblem: (witness, problem) =>
          log.warn({ witness, problem }, "a witness does not cosign the signal log"),
      });
    this.#signer = new LogSigner({ store, head, keyring, isShared, now });
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
      onMissingRun: ({ index, assetClass, close }) =>
        log.error(
          { run: index, assetClass, close },
          "a run of the signal log is not stored, so its outcomes cannot be logged",
        ),
      onRefusal: (reason) => log.error({ reason }, `the signal log is not signed: ${reason}`),
    });
    const { writer, witnesses } = { writer: this.#writer, witnesses: this.#witnesses };
    this.leaderJobs = [
      {
        tick: () => writer.tick(),
        everyMs: WRITE_EVERY_MS,
        // Signals change whenever a session has closed.
        onWork: scoring.updates.onUpdate,
      },
      ...(witnesses ? [{ tick: () => witnesses.tick(), everyMs: WITNESS_EVERY_MS }] : []),
    ];
  }

  /**
   * Opens the log of a market whose clock advances; a market fixed at one instant has no log. With
   * an embedded store there is only one process. It logs the newest sessions before this method
   * returns, as far as time permits, so that even the first answers can state their log entries.
   */
  static async open(options: SignalLogOptions): Promise<SignalLog | undefined> {
    const { scoring, store, log } = options;
    if (scoring.market.mode === "files") return undefined;
    const { witnessesFile: path } = options;
    const policy = path === undefined ? undefined : await witnessesIn(path);
    const opened = new SignalLog(options, policy);
    try {
      if (store.engine === "embedded") await opened.#announceFork();
      if (store.engine === "embedded" && !scoring.isProvisional()) {
        const { mode } = scoring.market;
        const isNew = mode === "replay" || (await opened.#store.state()) === undefined;
        const until = performance.now() + (isNew ? Number.POSITIVE_INFINITY : START_MS);
        while ((await opened.#writer.tick()) > 0 && performance.now() < until);
      }
      await opened.#reload();
      // A replay waits for the log, since statements logged after the start of their returns would
      // count as late. With several processes, only one writes the log, so nothing waits.
      if (store.engine === "embedded") scoring.waitFor(() => opened.#writer.isBehind);
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
    this.#loop = startLoop({ tick, everyMs: RELOAD_EVERY_MS, onError, schedule: scheduleTimer });
    this.#unsubscribe = this.#store.onSigned(this.#loop.wake);
  }

  /**
   * Announces before the first answer whether the log must not be signed, because the leader's work
   * may begin much later.
   */
  async #announceFork(): Promise<void> {
    const state = (await this.#store.state())?.value;
    if (state === undefined || this.#options.scoring.market.mode === "replay") return;
    const refusal = await this.#signer.refusal(state);
    // Whether witnesses still object is known only once they were asked.
    if (refusal === undefined && this.#witnesses !== undefined) return;
    await this.#store.announceRefusal(refusal);
  }

  async #reload(): Promise<number> {
    this.#refusal = await this.#store.refusal();
    // Refreshes the log id in the reader, so that cached tiles of a replaced log are not served.
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
    const { origin, beganAt, record: terms, claims: registered = {} } = state;
    const { methodHash: running } = runningMethod();
    // Converts sessions to days: five sessions in seven days, unless every day has a session.
    const daysOf = (assetClass: AssetClass) =>
      assetClass === "crypto" || market.barsDue === undefined ? 1 : 7 / 5;
    const { size } = this.#graded;
    const records: ServedTrackRecord[] = [];
    const openSinceOf = (assetClass: AssetClass) =>
      state.unsettled.find((run) => run.assetClass === assetClass)?.close ?? null;
    for (const assetClass of AssetClass.options) {
      const openSince = openSinceOf(assetClass);
      for (const horizon of terms.horizons[assetClass] ?? []) {
        const days = Math.ceil((horizon + 2) * daysOf(assetClass));
        const methods = new Set([running, ...this.#graded.methodsOf({ assetClass, horizon })]);
        for (const methodHash of methods) {
          const of = { assetClass, horizon, methodHash };
          const record = this.#graded.record(of, terms, marketNow());
          const from = registered[methodHash]?.terms.registeredAt ?? beganAt;
          records.push({ ...record, expectedAt: from + days * market.dayMs, openSince });
          // Computing a track record takes some time, so other work gets a turn after each one.
          await setImmediate();
        }
      }
    }
    const claims = Object.entries(registered)
      .filter(([, { index }]) => index < size)
      .sort(([, a], [, b]) => b.index - a.index)
      .map(([methodHash, { terms: claimed }]): ServedClaim => {
        const { assetClass, horizon } = claimed;
        const runs = this.#graded.runsOf({ assetClass, horizon, methodHash });
        const openSince = openSinceOf(assetClass);
        return { methodHash, ...liveClaimFigures(claimed, runs, marketNow()), openSince };
      });
    // If entries were read in the meantime, only some of the track records contain them. Computing
    // again is cheap, since unchanged track records are cached.
    if (this.#graded.size !== size) return this.trackRecord();
    return { origin, beganAt, size, terms, records, claims };
  }

  /** Number that increases whenever `indexOf` may find more entries. */
  edition(): number {
    return this.#runs.edition;
  }

  /**
   * Index of the leaf with an instrument's signal at the close of a session (Unix milliseconds).
   */
  indexOf(instrument: Instrument, close: number): number | undefined {
    return this.#runs.indexOf(instrument, close);
  }

  /** The public keys that verify checkpoints, newest first (C2SP signed-note, "Verifier keys"). */
  verifiersOf(origin: string): readonly string[] {
    return signersOf(this.#options.keyring, origin).map(verifierText);
  }

  /** The public keys that verify the signatures that `withoutLongSignatures` retains. */
  shortVerifiersOf(origin: string): readonly string[] {
    const signers = signersOf(this.#options.keyring, origin);
    return signers.filter(({ type }) => type === SIGNATURE_TYPE_NUMBERS.ed25519).map(verifierText);
  }

  /**
   * Why the leader does not sign the log, or why witnesses do not cosign it; `undefined` if there
   * is no fault.
   */
  get fault(): string | undefined {
    return this.#refusal === undefined ? this.#witnesses?.fault : `not signed: ${this.#refusal}`;
  }

  /** Whether the leader may sign the log. */
  get isSigned(): boolean {
    return this.#refusal === undefined;
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#loop?.stop();
  }
}

/**
 * Reads the witness policy.
 *
 * @throws {Error} If the file of `WITNESSES` cannot be read or is not a policy.
 */
async function witnessesIn(path: string): Promise<WitnessPolicy> {
  const text = await readFile(path, "utf8").catch((cause) => {
    throw new Error(`WITNESSES: ${path} cannot be read.`, { cause });
  });
  return parseWitnessPolicy(text, `WITNESSES: ${path}`);
}
