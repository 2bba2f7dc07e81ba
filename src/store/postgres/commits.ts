import { randomUUID } from "node:crypto";
import type { Problem } from "../../lib/problem.ts";
import type { Operation, ReplaceOptions } from "../port/records.ts";
import { storeUnavailableProblem } from "../port/unavailable.ts";
import { checkRecordNames, jsonText } from "../port/values.ts";
import { encodeArchiveRow } from "./archive.ts";
import type { RunOnce } from "./once.ts";
import { hasMissedDeadline, isRejectedByServer } from "./retry.ts";

/**
 * Maximum size of a batch: the number of commits, and the number of characters of their JSON text.
 */
const BATCH = { commits: 200, characters: 4_000_000 };

/** Maximum size of a notification payload: PostgreSQL requires fewer than 8,000 bytes (NOTIFY). */
const MAX_PAYLOAD_BYTES = 7_999;

/**
 * Maximum lifetime or delay, in milliseconds: the largest time value that a `Date` can represent.
 */
const MAX_SPAN = 8_640_000_000_000_000;

/** Queue of the commits of one process. */
export interface Commits {
  /** Performs operations, like `Records.commit`. */
  commit(operations: readonly Operation[]): Promise<boolean>;
  /** Waits for commits in progress. Later commits are rejected. */
  close(): Promise<void>;
}

interface Waiting {
  /** The operations of the commit, as JSON. */
  readonly steps: string;
  /** The number of operations. */
  readonly parts: number;
  readonly resolve: (held: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** For each commit of a batch, whether it succeeded. */
type Held = readonly boolean[];

/**
 * Sends commits in batches, one batch at a time. Commits that arrive while a batch is being sent
 * form the next batch, so that many writers share a round trip and a disk sync.
 */
export function createCommits(once: RunOnce): Commits {
  const waiting: Waiting[] = [];
  let sending: Promise<void> | undefined;
  let isClosed = false;

  const send = async (batch: readonly Waiting[]) => {
    const id = randomUUID();
    try {
      const given = `[${batch.map((each) => each.steps).join(",")}]`;
      const parts = batch.reduce((sum, each) => sum + each.parts, 0);
      answer(batch, await once<Held>({ id, work: "commit", given, parts }));
    } catch (error) {
      if (!isRejectedByServer(error)) return giveUp(batch, error);
      await afterRefusal(batch, id, error);
    }
  };
  const afterRefusal = async (batch: readonly Waiting[], id: string, error: Problem) => {
    // The rejected batch may be a second attempt, after a successful first attempt whose answer was
    // lost.
    const held = await once<Held>({ id, work: "cancel", given: "[]", parts: 0 }).catch(ignore);
    if (held?.length) return answer(batch, held);
    // What took too long together takes no less time separately.
    if (batch.length === 1 || held === undefined || hasMissedDeadline(error)) {
      return giveUp(batch, error);
    }
    // Nothing was committed. A single commit may be the cause, so each commit is sent separately.
    for (const each of batch) await send([each]);
  };
  const giveUp = (batch: readonly Waiting[], error: unknown) => {
    // If the database did not respond within the whole retry time, other waiting commits have
    // waited as long and are rejected too.
    const others = isRejectedByServer(error) ? [] : waiting.splice(0);
    for (const { reject } of [...batch, ...others]) reject(error);
  };
  const sendAll = async () => {
    while (waiting.length > 0) {
      await send(nextBatch(waiting));
      // Lets writers that immediately commit again join the next batch instead of the one after it.
      await new Promise(setImmediate);
    }
    sending = undefined;
  };
  return {
    async commit(operations) {
      const steps = JSON.stringify(operations.map(encode));
      if (isClosed) throw storeUnavailableProblem("The store is closed.");
      if (operations.length === 0) return true;
      return new Promise((resolve, reject) => {
        waiting.push({ steps, parts: operations.length, resolve, reject });
        sending ??= sendAll();
      });
    },
    async close() {
      isClosed = true;
      await sending;
    },
  };
}

function answer(batch: readonly Waiting[], held: Held | null): void {
  for (const [at, { resolve }] of batch.entries()) resolve(held?.[at] === true);
}

const ignore = () => undefined;

/** Removes the commits of the next batch from the queue. */
function nextBatch(waiting: Waiting[]): readonly Waiting[] {
  let characters = 0;
  const end = waiting.findIndex(({ steps }, at) => {
    characters += steps.length;
    return at === BATCH.commits || (at > 0 && characters > BATCH.characters);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

/**
 * Encodes an operation in the form that the SQL function `market_signal.commit` reads.
 *
 * @throws {RangeError} If the store cannot hold the operation's data.
 */
function encode(operation: Operation): object {
  switch (operation.kind) {
    case "put":
    case "insert":
      return { ...placed(operation), groups: operation.placing.groups ?? [] };
    case "replace": {
      const { ttlMs, dueInMs } = operation.placing;
      const keeps = { keepsTtl: ttlMs === undefined, keepsDue: dueInMs === undefined };
      checkRevision(operation.revision);
      return { ...placed(operation), revision: operation.revision, ...keeps };
    }
    case "check":
      checkRecordNames([operation.collection, operation.key]);
      checkRevision(operation.revision);
      return operation;
    case "checkAbsent":
    case "consume":
      checkRecordNames([operation.collection, operation.key]);
      return operation;
    case "checkList":
      return encodeCheckList(operation);
    case "remove":
      checkRecordNames([operation.collection, operation.key]);
      if (operation.revision !== undefined) checkRevision(operation.revision);
      return operation;
    case "removeGroup":
      checkRecordNames([operation.group]);
      return { kind: operation.kind, key: operation.group };
    case "append":
      return { kind: operation.kind, archived: encodeArchiveRow(operation.row) };
    case "announce":
      return { kind: operation.kind, payload: payloadOf(operation) };
  }
}

function encodeCheckList(operation: Extract<Operation, { readonly kind: "checkList" }>): object {
  const { kind, collection, group, after, count, newest, isWhole } = operation;
  checkRecordNames(group === undefined ? [collection] : [collection, group]);
  for (const revision of [after, newest]) checkRevision(revision);
  const last = isWhole ? Number.MAX_SAFE_INTEGER : newest;
  return { kind, collection, key: group, after, last, count, newest };
}

function placed(operation: Extract<Operation, { readonly value: unknown }>): object {
  const { kind, collection, key, value } = operation;
  const { groups, ttlMs, dueInMs }: ReplaceOptions = operation.placing;
  checkRecordNames([collection, key, ...(groups ?? [])]);
  const spans = { ttl: wholeMs(ttlMs), due: wholeMs(dueInMs) };
  return { kind, collection, key, value: jsonText(value), groups, ...spans };
}

/**
 * Rejects revisions such as NaN. JSON encodes NaN as `null`, which would make a remove or check
 * unconditional.
 */
function checkRevision(revision: number): void {
  if (!Number.isSafeInteger(revision)) throw new RangeError("A revision is a whole number.");
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
