import { put } from "./port/operations.ts";
import { collection } from "./port/records.ts";
import type { Store } from "./port/store.ts";

/**
 * All probes within this many milliseconds share one write, so that frequent probes do not cause
 * load on the disk.
 */
const SHARED_MS = 1_000;

/** Records written only to test whether writes reach the disk. */
export const probes = collection<Record<string, never>>("probes");

/** Result of a probe. */
interface ProbeResult {
  readonly ok: boolean;
  readonly detail: string;
}

/** Tests, by writing a record, whether writes reach the disk. */
export class WriteProbe {
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  #last: { readonly startedAt: number; readonly result: Promise<ProbeResult> } | undefined;

  /** @param onError Called with the error if the store cannot be written. */
  constructor(store: Store, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  /** Tests whether a write reaches the disk now. */
  check(): Promise<ProbeResult> {
    const startedAt = performance.now();
    if (this.#last === undefined || startedAt - this.#last.startedAt > SHARED_MS) {
      this.#last = { startedAt, result: this.#write(startedAt) };
    }
    return this.#last.result;
  }

  async #write(startedAt: number): Promise<ProbeResult> {
    const { engine, records } = this.#store;
    try {
      await records.commit([put(probes, { key: "readyz", value: {} })]);
      const ms = Math.round(performance.now() - startedAt);
      return { ok: true, detail: `${engine}: a write took ${ms} ms` };
    } catch (error) {
      this.#onError(error);
      return { ok: false, detail: `${engine}: cannot be written` };
    }
  }
}
