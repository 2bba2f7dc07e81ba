import { setImmediate } from "node:timers/promises";
import type { Stored } from "../store/port/records.ts";
import { treeSizeOf } from "../tree/tree-store.ts";
import { ClosedSessions, type ClosedSessionsOptions } from "./closed-sessions.ts";
import type { LastCheckpointFile } from "./last-checkpoint-file.ts";
import type { LogSigner } from "./log-signer.ts";
import { type LogState, phaseOf } from "./log-state.ts";
import { LogMovedOn } from "./log-store.ts";
import { formerLogOrigins, newLogState } from "./new-log.ts";
import { RunWriter, type RunWriterOptions } from "./run-writer.ts";
import { Settler, type SettlerOptions } from "./settler.ts";
import type { WitnessClient } from "./witness/witness-client.ts";

/** Dependencies of the writer. */
export interface WriterOptions extends RunWriterOptions, SettlerOptions {
  readonly head: LastCheckpointFile;
  readonly signer: LogSigner;
  /** Obtains cosignatures on checkpoints; `undefined` without witnesses. */
  readonly witnesses?: Pick<WitnessClient, "tick" | "refusal"> | undefined;
  readonly snapshots: RunWriterOptions["snapshots"] & ClosedSessionsOptions["snapshots"];
  readonly market: RunWriterOptions["market"] & SettlerOptions["market"];
  /** Public host, the first part of the origin of a new log. */
  readonly host: string;
  /** Called with the reason when the log must not be signed. */
  readonly onRefusal: (reason: string) => void;
}

/**
 * Writes the log of a leader: a run for each session that has closed, with a decision on every
 * instrument; a settlement of each run when its returns are known; and the checkpoints.
 */
export class LogWriter {
  readonly #options: WriterOptions;
  readonly #sessions: ClosedSessions;
  readonly #runs: RunWriter;
  readonly #settler: Settler;
  #hasStarted = false;
  #isChecked = false;
  #refusal: string | undefined;
  /** Whether a tick is running, or the last tick did any work. */
  #isAtWork = false;
  /** The state after the last append; another process may have appended since then. */
  #state: Stored<LogState> | undefined;

  constructor(options: WriterOptions) {
    const { snapshots, market, knownUntil } = options;
    this.#options = options;
    this.#sessions = new ClosedSessions({ snapshots, dayMs: market.dayMs, knownUntil });
    this.#runs = new RunWriter(options);
    this.#settler = new Settler(options);
  }

  /** Whether signing is allowed and there are closed sessions that are not logged. */
  get isBehind(): boolean {
    return this.#refusal === undefined && (this.#isAtWork || this.#sessions.isAny);
  }

  /**
   * Performs one step of the leader's work.
   *
   * @returns 1 if it did any work, 0 if there was nothing to do.
   */
  async tick(): Promise<number> {
    this.#isAtWork = true;
    let worked = 0;
    try {
      worked = (await this.#step()) ? 1 : 0;
    } catch (error) {
      if (!(error instanceof LogMovedOn)) throw error;
      worked = 1;
    } finally {
      this.#isAtWork = worked > 0;
    }
    return worked;
  }

  /**
   * Goes from what is durable to what is durable next. That the log loses nothing, changes nothing
   * and never forks, wherever its process ends, follows from this function:
   *
   * - A step ends in one commit. That of a step which appends has the leaves, the tiles that they
   *   complete, and the state with the edge of the tree: no leaf is without its tiles, and none is
   *   written again.
   * - The commit takes effect only if the state is still the one that the step began with. Of two
   *   leaders, one goes on and the other begins again with what is stored now (`LogMovedOn`).
   * - What was not committed is lost with its process. Nobody has seen it: only what a checkpoint
   *   covers is served, and named in answers.
   * - What was committed is one of the phases below, where this function goes on in the next
   *   process as it would have in the last one. There is no other recovery. What a process
   *   remembers between steps only saves reading.
   *
   * @returns Whether it did any work.
   */
  async #step(): Promise<boolean> {
    const { store } = this.#options;
    const state = this.#state ?? (await store.state());
    this.#state = undefined;
    if (state === undefined || (this.#startsAnew && !this.#hasStarted)) return this.#start(state);

    // A log that lacks what was signed here, or what a witness has, is neither continued nor
    // signed.
    if (!(await this.#extendsWhatWasSigned(state.value))) return false;

    const phase = phaseOf(state.value);
    switch (phase.is) {
      case "open run":
        // The next results are computed from what the session left in the archive, as the process
        // that began the run would have. Where that lacks a result, the result is `failed`.
        return this.#committed(await this.#runs.goOn(state, phase.run));

      case "whole run":
        // The checkpoint is in `log-head` before it is in the store, from where it is served. Where
        // a process ends between the two, the leaves are durable, and the next one signs the same
        // tree. The run then counts as covered from that later time on.
        return this.#sign(state);

      case "open settlement":
        // The next outcomes are those that the settlement began with, or computed again.
        return this.#committed(await this.#settler.goOn(state, phase.settlement));

      case "covered": {
        const settled = await this.#settler.startNext(state);
        if (settled !== undefined) return this.#committed(settled);
        const signed = await store.checkpoint();
        const isSigned = signed?.id === state.value.id && signed.size === treeSizeOf(state.value);
        if (!isSigned) return this.#sign(state);
        const session = this.#sessions.next(state.value);
        if (session === undefined) return false;
        // Listing the sessions of thousands of instruments takes as long as appending a chunk.
        await setImmediate();
        return this.#committed(await this.#runs.start(state, session));
      }
    }
  }

  /** Remembers the state after a commit; `undefined` if the step has to wait. */
  async #committed(state: Stored<LogState> | undefined): Promise<boolean> {
    this.#state = state;
    // An embedded store writes synchronously, so other work must run between two chunks.
    await setImmediate();
    return state !== undefined;
  }

  /** Whether each start begins a new log: a replay is a new history each time. */
  get #startsAnew(): boolean {
    return this.#options.market.mode === "replay";
  }

  async #start(before: Stored<LogState> | undefined): Promise<boolean> {
    const { store, head, host, now, marketNow } = this.#options;
    // The checkpoint in `log-head` belongs to another log if this store was created after that log
    // was signed here.
    const kept = head.read();
    const state = newLogState(host, {
      createdAt: now(),
      beganAt: marketNow(),
      recordedUntil: this.#sessions.beforeNewest(),
      replaces: (!this.#startsAnew && kept?.note.text) || null,
      former: formerLogOrigins(before?.value, kept),
    });
    this.#hasStarted = await store.start(before, state);
    return true;
  }

  /**
   * Compares the log with earlier signed checkpoints and with those that witnesses have seen, since
   * the previous leader may have been another process. Once is enough, unless signing fails or a
   * witness objects.
   */
  async #extendsWhatWasSigned(state: LogState): Promise<boolean> {
    const { store, signer, witnesses, onRefusal } = this.#options;
    if (witnesses?.refusal(state.id) !== undefined) this.#isChecked = false;
    if (this.#isChecked) return true;
    await witnesses?.tick();
    const refusal = (await signer.refusal(state)) ?? witnesses?.refusal(state.id);
    if (refusal !== undefined && refusal !== this.#refusal) onRefusal(refusal);
    this.#refusal = refusal;
    this.#isChecked = refusal === undefined;
    await store.announceRefusal(refusal);
    return this.#isChecked;
  }

  async #sign(state: Stored<LogState>): Promise<boolean> {
    const { signer, marketNow } = this.#options;
    const unsettled = state.value.unsettled.map((run) => ({
      ...run,
      coveredAt: run.coveredAt ?? marketNow(),
    }));
    try {
      await signer.sign(state, { unsettled });
    } catch (error) {
      this.#isChecked = false;
      throw error;
    }
    return true;
  }
}
