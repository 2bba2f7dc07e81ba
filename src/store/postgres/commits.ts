import type { Operation, Replacing } from "../records.ts";
import { storeUnavailable } from "../unavailable.ts";
import type { Once } from "./once.ts";
import { isRefused } from "./persistence.ts";
import { checkNames, jsonText } from "./text.ts";

/** Commits that go in one batch, and their text in characters. */
const BATCH = { commits: 200, characters: 4_000_000 };

/** PostgreSQL takes payloads of fewer than 8,000 bytes (NOTIFY). */
const MAX_PAYLOAD_BYTES = 7_999;

/** The longest life, in milliseconds, lies outside all dates. */
const MAX_SPAN = 8_640_000_000_000_000;

/** The commits of one process. */
export interface Commits {
  /** Like `Records.commit`. */
  commit(operations: readonly Operation[]): Promise<boolean>;
  /** Waits for the commits under way; later ones are refused. */
  close(): Promise<void>;
}

interface Waiting {
  /** The steps, JSON. */
  readonly steps: string;
  readonly resolve: (held: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends commits in batches, one at a time: those that come while a batch is under way are the
 * next, so that many writers share a round trip and a wait for the disk.
 */
export function createCommits(once: Once): Commits {
  const waiting: Waiting[] = [];
  let pump: Promise<void> | undefined;
  let isClosed = false;

  const send = async (batch: readonly Waiting[]) => {
    try {
      const steps = batch.map((each) => each.steps);
      const held = await once<readonly boolean[]>("commit", `[${steps.join(",")}]`);
      for (const [at, { resolve }] of batch.entries()) resolve(held?.[at] === true);
    } catch (error) {
      await settle(batch, error);
    }
  };
  const settle = async (batch: readonly Waiting[], error: unknown) => {
    if (batch.length > 1 && isRefused(error)) {
      // Nothing of it was done, and one commit may be why: it must not harm the others.
      for (const each of batch) await send([each]);
      return;
    }
    // When the database was silent for the whole budget, who waited meanwhile has waited as long.
    const others = isRefused(error) ? [] : waiting.splice(0);
    for (const { reject } of [...batch, ...others]) reject(error);
  };
  const sendAll = async () => {
    while (waiting.length > 0) {
      await send(nextBatch(waiting));
      // Whoever commits again at once is in the next batch, not in the one after.
      await new Promise(setImmediate);
    }
    pump = undefined;
  };
  return {
    async commit(operations) {
      const steps = JSON.stringify(operations.map(encode));
      if (isClosed) throw storeUnavailable("The store is closed.");
      if (operations.length === 0) return true;
      return new Promise((resolve, reject) => {
        waiting.push({ steps, resolve, reject });
        pump ??= sendAll();
      });
    },
    async close() {
      isClosed = true;
      await pump;
    },
  };
}

/** Takes the first commits away from those that wait. */
function nextBatch(waiting: Waiting[]): readonly Waiting[] {
  let characters = 0;
  const end = waiting.findIndex(({ steps }, at) => {
    characters += steps.length;
    return at === BATCH.commits || (at > 0 && characters > BATCH.characters);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

/** A step as `market_signal.commit` reads it. @throws {RangeError} When the store cannot hold it. */
function encode(operation: Operation): object {
  switch (operation.kind) {
    case "put":
    case "insert":
      return { ...placed(operation), groups: operation.placing.groups ?? [] };
    case "replace": {
      const { ttlMs, dueInMs } = operation.placing;
      const keeps = { keepsTtl: ttlMs === undefined, keepsDue: dueInMs === undefined };
      return { ...placed(operation), revision: operation.revision, ...keeps };
    }
    case "consume":
    case "remove":
      checkNames([operation.collection, operation.key]);
      return operation;
    case "removeGroup":
      checkNames([operation.group]);
      return { kind: operation.kind, key: operation.group };
    case "announce":
      return { kind: operation.kind, payload: payloadOf(operation) };
  }
}

function placed(operation: Extract<Operation, { readonly value: unknown }>): object {
  const { kind, collection, key, value } = operation;
  const { groups, ttlMs, dueInMs }: Replacing = operation.placing;
  checkNames([collection, key, ...(groups ?? [])]);
  const spans = { ttl: wholeMs(ttlMs), due: wholeMs(dueInMs) };
  return { kind, collection, key, value: jsonText(value), groups, ...spans };
}

function wholeMs(ms: number | null | undefined): number | undefined {
  if (ms === null || ms === undefined) return undefined;
  if (Number.isNaN(ms)) throw new RangeError("A time span is a number of milliseconds.");
  return Math.round(Math.max(-MAX_SPAN, Math.min(ms, MAX_SPAN)));
}

function payloadOf({ topic, text }: { readonly topic: string; readonly text: string }): string {
  const payload = JSON.stringify([topic, text]);
  if (Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES) return payload;
  throw new RangeError(`An announcement has at most ${MAX_PAYLOAD_BYTES} bytes.`);
}
