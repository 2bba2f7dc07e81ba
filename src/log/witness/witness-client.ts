import { wholeBody } from "../../outbound/whole-body.ts";
import { parseDecimal } from "../checkpoint.ts";
import type { LogStore, SignedState } from "../log-store.ts";
import { consistencyPath } from "../merkle.ts";
import { parseNote } from "../signed-note.ts";
import { rangeHashes } from "../tiles.ts";
import { addCheckpointText } from "./add-checkpoint.ts";
import { type Cosignature, cosignaturesOf } from "./cosignature.ts";
import type { Policy, PolicyWitness } from "./policy.ts";

/** Time for one request, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** Largest answer in bytes; a cosignature has 200. */
const MAX_BYTES = 64 * 1024;

/** Pause before a witness that did not cosign is asked again, in milliseconds. */
const RETRY_MS = 10_000;

/** Time without a quorum after which the log counts as unwitnessed, in milliseconds. */
const LATE_MS = 600_000;

/** Dependencies of the client. */
export interface WitnessClientOptions {
  readonly store: LogStore;
  readonly policy: Policy;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly fetch: typeof fetch;
}

/** A witness with what is known of it. */
interface Asked {
  readonly witness: PolicyWitness;
  readonly url: string;
  /** Size of the checkpoint that it cosigned last. */
  size: number;
  cosignature: Cosignature | undefined;
  /** Why it has not cosigned; `undefined` before it was asked. */
  problem: string | undefined;
  /** What it holds that contradicts this log. */
  contradiction: string | undefined;
  retryAt: number;
}

/** The leader has each checkpoint cosigned, and publishes it once the cosignatures are enough. */
export class WitnessClient {
  readonly #options: WitnessClientOptions;
  readonly #asked: readonly Asked[];
  /** The checkpoint that is being cosigned. */
  #checkpoint: SignedState | undefined;
  /** Since when checkpoints wait for a quorum, Unix milliseconds. */
  #waitingSince: number | undefined;
  #running: Promise<number> | undefined;

  constructor(options: WitnessClientOptions) {
    this.#options = options;
    this.#asked = options.policy.witnesses.flatMap((witness) => {
      const { url } = witness;
      if (url === undefined) return [];
      const unknown = { cosignature: undefined, problem: undefined, contradiction: undefined };
      return [{ witness, url, size: 0, retryAt: 0, ...unknown }];
    });
  }

  /** Why a log must not be signed: a witness has seen more of it, or something else. */
  refusal(id: string): string | undefined {
    if (this.#checkpoint?.id !== id) return undefined;
    const found = this.#asked.find(({ contradiction }) => contradiction !== undefined);
    return found && `the witness ${found.witness.name} ${found.contradiction}`;
  }

  /** Why there has been no quorum for too long; `undefined` if there is one. */
  get fault(): string | undefined {
    const since = this.#waitingSince;
    if (since === undefined || this.#options.now() - since < LATE_MS) return undefined;
    const problems = this.#asked.flatMap(({ witness, problem }) =>
      problem === undefined ? [] : [`${witness.name} ${problem}`],
    );
    const begun = new Date(since).toISOString();
    return `no quorum of witnesses since ${begun} (${problems.join("; ") || "none has an address"})`;
  }

  /** Has the last checkpoint cosigned by those that have not done so. @returns 0: it waits in between. */
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
    const due = this.#asked.filter(
      ({ cosignature, retryAt }) => cosignature === undefined && retryAt <= now(),
    );
    if (due.length === 0) return 0;
    await Promise.all(due.map((one) => this.#ask(one, checkpoint)));
    const cosignatures = this.#asked.flatMap(({ cosignature }) => cosignature ?? []);
    const isNews = due.some(({ cosignature }) => cosignature !== undefined);
    if (isNews && policy.hasQuorum(cosignatures)) {
      const note = checkpoint.note + cosignatures.map(({ line }) => line).join("");
      await store.publish({ ...checkpoint, note });
      this.#waitingSince = undefined;
    }
    return 0;
  }

  #begin(checkpoint: SignedState): void {
    const isOther = checkpoint.id !== this.#checkpoint?.id;
    this.#checkpoint = checkpoint;
    this.#waitingSince ??= this.#options.now();
    for (const asked of this.#asked) {
      if (isOther) {
        asked.size = 0;
        asked.contradiction = undefined;
      }
      asked.cosignature = undefined;
      asked.retryAt = 0;
    }
  }

  async #ask(asked: Asked, checkpoint: SignedState): Promise<void> {
    try {
      asked.problem = await this.#cosigned(asked, checkpoint);
    } catch {
      asked.problem = "does not answer";
    }
    if (asked.problem !== undefined) asked.retryAt = this.#options.now() + RETRY_MS;
  }

  /** @returns Why it was not cosigned. */
  async #cosigned(asked: Asked, checkpoint: SignedState): Promise<string | undefined> {
    if (asked.size > checkpoint.size) return this.#refuseLarger(asked, checkpoint);
    const first = await this.#post(asked, checkpoint);
    if (first.status !== 409) return this.#taken(asked, checkpoint, first);
    const size = parseDecimal(first.body.trim());
    if (size === undefined) return "answers without a size";
    asked.size = size;
    if (size > checkpoint.size) return this.#refuseLarger(asked, checkpoint);
    return this.#taken(asked, checkpoint, await this.#post(asked, checkpoint));
  }

  #taken(
    asked: Asked,
    { note, size }: SignedState,
    { status, body }: { readonly status: number; readonly body: string },
  ): string | undefined {
    const { verifier } = asked.witness;
    if (status === 422) {
      asked.contradiction = `has cosigned ${asked.size} other entries than those that are here`;
      return asked.contradiction;
    }
    if (status !== 200) return `answers ${status}`;
    const [cosignature] = cosignaturesOf(parseNote(note + body), [verifier]);
    if (cosignature === undefined) return "answers without its cosignature";
    asked.cosignature = cosignature;
    asked.size = size;
    return undefined;
  }

  #refuseLarger(asked: Asked, { size }: SignedState): string {
    asked.contradiction = `has cosigned ${asked.size} entries, and only ${size} are signed here`;
    return asked.contradiction;
  }

  async #post({ url, size: old }: Asked, { id, size, note }: SignedState) {
    const { store, fetch } = this.#options;
    const path = old > 0 ? consistencyPath(old, size) : [];
    const proof = await rangeHashes(path, size, (tile) => store.hashes(id, tile));
    const response = await fetch(`${url}/add-checkpoint`, {
      method: "POST",
      body: addCheckpointText({ old, proof, note }),
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = await (response.body ? wholeBody(response.body, MAX_BYTES) : "");
    return { status: response.status, body: String(body) };
  }
}
