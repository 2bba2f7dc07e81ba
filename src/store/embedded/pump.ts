import { isSqliteError } from "./failure.ts";
import type { Files, Holder } from "./files.ts";
import type { Gate } from "./gate.ts";
import { applyDraft, createDraft, type Draft } from "./shelf.ts";

/** Work on the records that is all or nothing. */
export interface Job<T> {
  /** `table`: looks at all that is on disk, so that nothing may wait to be written there. */
  readonly reads: "memory" | "table";
  /** Writes into the draft. @returns `false` when nothing of it is to happen. */
  run(draft: Draft, files: Files): T;
}

/** Does jobs one after the other, many in one transaction. */
export interface Pump {
  /** Resolves when what the job wrote is on disk and can be read. */
  add<T>(job: Job<T>): Promise<T>;
  /** Does all that waits, now. */
  drain(): void;
}

/** What a pump works on. */
export interface PumpOptions {
  readonly holder: Holder;
  readonly gate: Gate;
  /** Called after jobs were done. */
  readonly onDone: () => void;
}

/** Most jobs in one transaction: about 10 ms of work. */
const BATCH_JOBS = 500;

/** Turns of the event loop for which a transaction waits for more jobs, at most, as long as each brings
 *  some: to reach the disk takes as long as several requests, for one job as for fifty. */
const GATHERING_TURNS = 2;

interface Waiting {
  readonly job: Job<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A transaction for which jobs still come. */
interface Gathering {
  /** Jobs that had come one turn before. */
  readonly seen: number;
  readonly turns: number;
}

/** Creates a pump without work. */
export function createPump({ holder, gate, onDone }: PumpOptions): Pump {
  let queue: Waiting[] = [];
  let isPlanned = false;

  const plan = (): void => {
    if (isPlanned || queue.length === 0) return;
    isPlanned = true;
    setImmediate(turn, { seen: 0, turns: 0 });
  };
  const turn = ({ seen, turns }: Gathering): void => {
    const isGathering = queue.length > seen && queue.length < BATCH_JOBS;
    if (isGathering && turns < GATHERING_TURNS) {
      setImmediate(turn, { seen: queue.length, turns: turns + 1 });
      return;
    }
    isPlanned = false;
    doSome();
    plan();
  };
  const doSome = (): void => {
    const size = batchSize(queue);
    const batch = queue.slice(0, size);
    queue = queue.slice(size);
    settle(batch);
    onDone();
  };
  const settle = (batch: readonly Waiting[]): void => {
    try {
      gate.checkWritable();
      perform(batch, holder.files).forEach((answer) => void answer());
    } catch (error) {
      refuse(batch, error);
    }
  };
  /** One that cannot be written must not fail its neighbours: each half is tried by itself. */
  const refuse = (batch: readonly Waiting[], error: unknown): void => {
    const refusal = gate.refusal(error);
    if (batch.length > 1) {
      const middle = batch.length >> 1;
      settle(batch.slice(0, middle));
      settle(batch.slice(middle));
      return;
    }
    for (const { reject } of batch) reject(refusal);
  };
  return {
    add: <T>(job: Job<T>) =>
      new Promise<T>((resolve, reject) => {
        queue.push({ job, resolve: resolve as Waiting["resolve"], reject });
        plan();
      }),
    drain() {
      while (queue.length > 0) doSome();
    },
  };
}

/** How many of those that wait are done in one transaction. */
function batchSize(queue: readonly Waiting[]): number {
  if (queue[0]?.job.reads === "table") return 1;
  const alone = queue.findIndex(({ job }) => job.reads === "table");
  return Math.min(alone === -1 ? queue.length : alone, BATCH_JOBS);
}

/** Memory changes only after the disk did. @returns Tells each caller. */
function perform(batch: readonly Waiting[], files: Files): readonly (() => void)[] {
  const { base } = files;
  const { shelf } = base.data;
  const draft = createDraft(shelf);
  const answers = batch.map((waiting) => evaluate(waiting, draft, files));
  base.data.draft = draft;
  if (!draft.isEmpty) {
    base.write();
    applyDraft(draft, shelf);
  }
  return answers;
}

/** A job that throws has done nothing, and is no matter of the others. */
function evaluate({ job, resolve, reject }: Waiting, draft: Draft, files: Files): () => void {
  try {
    const own = createDraft(draft);
    const result = job.run(own, files);
    if (result !== false) applyDraft(own, draft);
    return () => resolve(result);
  } catch (error) {
    if (isSqliteError(error)) throw error;
    return () => reject(error);
  }
}
