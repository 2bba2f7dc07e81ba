import { setImmediate, setTimeout } from "node:timers/promises";
import { Problem } from "../../src/lib/problem.ts";
import type { Store } from "../../src/store/port/store.ts";
import { type LaneState, nextStep } from "./recipes.ts";
import type { Report } from "./reports.ts";

/** Options of a write load. */
export interface StormOptions {
  readonly store: Store;
  /** Name of the process; its lanes are called `<process>.<number>`. */
  readonly process: string;
  /** Number of earlier runs of the process. */
  readonly life: number;
  /** Number of concurrent writers. */
  readonly lanes: number;
  /** Pause between two steps of a lane, in milliseconds. */
  readonly pauseMs: number;
  /**
   * `go on`: a refusal is reported as an answer. `fall silent`: the disk is gone, so that nothing
   * is reported any more.
   */
  readonly onRefusal: "go on" | "fall silent";
  report(report: Report): void;
  isOver(): boolean;
}

/** Pause of a lane after a refusal, in milliseconds. */
const AFTER_REFUSAL_MS = 10;

/**
 * Writes from all lanes until `isOver`, and reports each commit before it starts and after it ends.
 */
export async function storm(options: StormOptions): Promise<void> {
  await Promise.all(Array.from({ length: options.lanes }, (_, number) => lane(options, number)));
}

async function lane(options: StormOptions, number: number): Promise<void> {
  const { store, process, life, pauseMs } = options;
  const name = `${process}.${number}`;
  // Each run begins with a different recipe and slot.
  for (let step = life * 31 + number * 17; !options.isOver(); step++) {
    const mark = `${process}.${life}.${number}.${step}`;
    const refusal = await advance(options, { store, lane: name, step, mark });
    if (refusal && options.onRefusal === "fall silent") return;
    await (refusal ? setTimeout(AFTER_REFUSAL_MS) : pause(pauseMs));
  }
}

function pause(ms: number): Promise<unknown> {
  return ms === 0 ? setImmediate() : setTimeout(ms);
}

/** Executes one step. @returns The error of a refused step, or `undefined`. */
async function advance({ report, onRefusal }: StormOptions, at: LaneState): Promise<unknown> {
  const { lane } = at;
  let ending: "refused" | "unread" = "unread";
  try {
    const { run, ...attempt } = await nextStep(at);
    ending = "refused";
    report({ is: "try", lane, at: Date.now(), ...attempt });
    report({ is: (await run()) ? "held" : "not held", lane });
    return undefined;
  } catch (error) {
    const code = error instanceof Problem ? error.code : String(error);
    if (onRefusal === "go on") report({ is: ending, lane, code });
    return error;
  }
}
