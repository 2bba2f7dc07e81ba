import { readWholeBody } from "../../outbound/whole-body.ts";
import { parseCheckpoint, parseDecimal, type SignedCheckpoint } from "../../tree/checkpoint.ts";
import { consistencyPath } from "../../tree/merkle.ts";
import type { NoteVerifier } from "../../tree/note-keys.ts";
import { verifyNote } from "../../tree/note-signatures.ts";
import { parseNote } from "../../tree/signed-note.ts";
import { rangeHashes } from "../../tree/tiles.ts";
import { forkReason } from "../fork-check.ts";
import type { LogStore, StoredCheckpoint } from "../log-store.ts";
import { formatAddCheckpointRequest, hashLogOrigin } from "./add-checkpoint-request.ts";
import { type Cosignature, cosignaturesOf } from "./cosignature.ts";
import type { PolicyWitness, WitnessPolicy } from "./policy.ts";

/** Timeout of a request, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** Maximum size of a response body in bytes; a cosignature has about 200. */
const MAX_BYTES = 64 * 1024;

/** Pause before a request to a witness that did not cosign is repeated, in milliseconds. */
const RETRY_MS = 10_000;

/**
 * How long a witness's unproved claim about the log blocks signing, in milliseconds: the request
 * for the proof may be lost and repeated.
 */
const PATIENCE_MS = 60_000;

/** Time without a quorum after which the log counts as unwitnessed, in milliseconds. */
const LATE_MS = 600_000;

/** Dependencies of `WitnessClient`. */
interface WitnessClientOptions {
  readonly store: LogStore;
  readonly policy: WitnessPolicy;
  /**
   * Verifier keys of a log by origin; every checkpoint of the log is signed by at least one of
   * them.
   */
  readonly verifiersOf: (origin: string) => readonly NoteVerifier[];
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  readonly fetch: typeof fetch;
  /** Called when a witness does not cosign, once per reason. */
  readonly onProblem: (witness: string, problem: string) => void;
}

/** Response of a witness. */
interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A witness and its state in this client. */
interface WitnessState {
  readonly witness: PolicyWitness;
  readonly url: string;
  /** Size of the last checkpoint that the witness cosigned. */
  size: number;
  cosignature: Cosignature | undefined;
  /** Why the witness has not cosigned; `undefined` before the first request. */
  problem: string | undefined;
  /**
   * Description of a checkpoint that the witness returned and that was signed here, but is missing
   * in this log.
   */
  contradiction: string | undefined;
  /** When the witness first made a claim without a checkpoint that proves it, Unix milliseconds. */
  doubtedSince: number | undefined;
  retryAt: number;
}

/** State of a witness before the first request. */
const UNKNOWN = {
  size: 0,
  cosignature: undefined,
  problem: undefined,
  contradiction: undefined,
  doubtedSince: undefined,
  retryAt: 0,
} as const;

/**
 * Collects cosignatures on each checkpoint for the leader, and publishes the checkpoint once a
 * quorum has cosigned. A witness's claim about the log is believed only if it comes with a
 * checkpoint that this log signed; an unproved claim blocks signing for at most a minute. Apart
 * from that, a dishonest or faulty witness only counts as one that does not cosign.
 */
export class WitnessClient {
  readonly #options: WitnessClientOptions;
  readonly #witnesses: readonly WitnessState[];
  /** The checkpoint that is being cosigned. */
  #checkpoint: StoredCheckpoint | undefined;
  /**
   * Since when checkpoints have been waiting for a quorum, Unix milliseconds; `undefined` if none
   * is waiting.
   */
  #waitingSince: number | undefined;
  #running: Promise<number> | undefined;

  constructor(options: WitnessClientOptions) {
    this.#options = options;
    this.#witnesses = options.policy.witnesses.flatMap((witness) => {
      const { url } = witness;
      if (url === undefined) return [];
      return [{ witness, url, ...UNKNOWN }];
    });
  }

  /**
   * Why a log must not be signed: a witness returned a signed tree that is larger or different, or
   * has just claimed to have one. `undefined` if the log may be signed.
   */
  refusal(id: string): string | undefined {
    if (this.#checkpoint?.id !== id) return undefined;
    const reasons = this.#witnesses.flatMap((asked) => {
      const reason = asked.contradiction ?? this.#doubt(asked);
      return reason === undefined ? [] : [`the witness ${asked.witness.name} ${reason}`];
    });
    return reasons[0];
  }

  #doubt({ problem, doubtedSince }: WitnessState): string | undefined {
    if (problem === undefined || doubtedSince === undefined) return undefined;
    const until = doubtedSince + PATIENCE_MS;
    if (this.#options.now() >= until) return undefined;
    return `${problem}; it has until ${new Date(until).toISOString()}`;
  }

  /** Why there has been no quorum for too long; `undefined` if that is not the case. */
  get fault(): string | undefined {
    const since = this.#waitingSince;
    if (since === undefined || this.#options.now() - since < LATE_MS) return undefined;
    const problems = this.#witnesses.flatMap(({ witness, problem }) =>
      problem === undefined ? [] : [`${witness.name} ${problem}`],
    );
    const begun = new Date(since).toISOString();
    return `no quorum of witnesses since ${begun} (${problems.join("; ") || "none has an address"})`;
  }

  /**
   * Sends requests to the witnesses that have not cosigned the last checkpoint.
   *
   * @returns 0, so that the next round follows after a pause.
   */
  tick(): Promise<number> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #round(): Promise<number> {
    const { store, policy, now } = this.#options;
    const checkpoint = await store.checkpoint();
    if (checkpoint === undefined) return 0;
    if (checkpoint.note !== this.#checkpoint?.note) this.#begin(checkpoint);
    const due = this.#witnesses.filter(
      ({ cosignature, retryAt }) => cosignature === undefined && retryAt <= now(),
    );
    if (due.length === 0) return 0;
    await Promise.all(due.map((one) => this.#ask(one, checkpoint)));
    const cosignatures = this.#witnesses.flatMap(({ cosignature }) => cosignature ?? []);
    const isNews = due.some(({ cosignature }) => cosignature !== undefined);
    if (isNews && policy.hasQuorum(cosignatures)) {
      const note = checkpoint.note + cosignatures.map(({ line }) => line).join("");
      await store.publish({ ...checkpoint, note });
      this.#waitingSince = undefined;
    }
    return 0;
  }

  #begin(checkpoint: StoredCheckpoint): void {
    const isOther = checkpoint.id !== this.#checkpoint?.id;
    this.#checkpoint = checkpoint;
    this.#waitingSince ??= this.#options.now();
    for (const asked of this.#witnesses) {
      if (isOther) Object.assign(asked, UNKNOWN);
      asked.cosignature = undefined;
      asked.contradiction = undefined;
      asked.retryAt = 0;
    }
  }

  async #ask(asked: WitnessState, checkpoint: StoredCheckpoint): Promise<void> {
    const before = asked.problem;
    try {
      asked.problem = await this.#cosigned(asked, checkpoint);
    } catch {
      asked.problem = "does not answer";
    }
    if (asked.problem === undefined) return;
    asked.retryAt = this.#options.now() + RETRY_MS;
    if (asked.problem !== before) this.#options.onProblem(asked.witness.name, asked.problem);
  }

  /**
   * Requests the cosignature of a witness.
   *
   * @returns Why the witness did not cosign; `undefined` if it did.
   */
  async #cosigned(asked: WitnessState, checkpoint: StoredCheckpoint): Promise<string | undefined> {
    const first = await this.#post(asked, checkpoint);
    if (first.status !== 409) return this.#taken(asked, checkpoint, first);
    const size = parseDecimal(first.body.trim());
    if (size === undefined) return "answers without a size";
    if (size > checkpoint.size) {
      return this.#examine(asked, checkpoint, `says that it has cosigned ${size} entries`);
    }
    asked.size = size;
    return this.#taken(asked, checkpoint, await this.#post(asked, checkpoint));
  }

  async #taken(
    asked: WitnessState,
    checkpoint: StoredCheckpoint,
    { status, body }: Answer,
  ): Promise<string | undefined> {
    const { verifier } = asked.witness;
    if (status === 422) {
      const says = `says that this log does not extend the ${asked.size} entries that it cosigned`;
      return this.#examine(asked, checkpoint, says);
    }
    if (status !== 200) return `answers ${status}`;
    const [cosignature] = cosignaturesOf(parseNote(checkpoint.note + body), [verifier]);
    if (cosignature === undefined) return "answers without its cosignature";
    asked.cosignature = cosignature;
    asked.contradiction = undefined;
    asked.size = checkpoint.size;
    return undefined;
  }

  /**
   * Compares the log with the checkpoint that a witness returns.
   *
   * @returns The finding in words.
   */
  async #examine(
    asked: WitnessState,
    { id, origin }: StoredCheckpoint,
    says: string,
  ): Promise<string> {
    const held = await this.#heldBy(asked, origin).catch(() => undefined);
    const { store, now } = this.#options;
    if (held === undefined) {
      asked.doubtedSince ??= now();
      return `${says}, and shows no checkpoint of them that was signed here`;
    }
    const state = (await store.state())?.value;
    const found = state?.id === id ? await forkReason(store, state, held) : undefined;
    asked.contradiction = found && `has a checkpoint that was signed here: ${found}`;
    return asked.contradiction ?? `${says}, and shows a checkpoint that this log extends`;
  }

  /**
   * The last checkpoint that a witness cosigned (C2SP tlog-witness, "Monitor Retrieval Mechanism").
   *
   * @throws {Error} If the witness returns none, or one that this log has not signed.
   */
  async #heldBy({ url }: WitnessState, origin: string): Promise<SignedCheckpoint> {
    const { body } = await this.#request(`${url}/${hashLogOrigin(origin)}/checkpoint`);
    const held = parseCheckpoint(body);
    if (held.origin !== origin) throw new Error("this is a checkpoint of another log");
    verifyNote(held.note, this.#options.verifiersOf(origin));
    return held;
  }

  async #post(
    { url, size: old }: WitnessState,
    { id, size, note }: StoredCheckpoint,
  ): Promise<Answer> {
    const { store } = this.#options;
    const path = old > 0 ? consistencyPath(old, size) : [];
    const proof = await rangeHashes(path, size, (tile) => store.tile(id, tile));
    const body = formatAddCheckpointRequest({ old, proof, note });
    return this.#request(`${url}/add-checkpoint`, { method: "POST", body });
  }

  async #request(url: string, init: RequestInit = {}): Promise<Answer> {
    const response = await this.#options.fetch(url, {
      ...init,
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = await (response.body ? readWholeBody(response.body, MAX_BYTES) : "");
    return { status: response.status, body: String(body) };
  }
}
