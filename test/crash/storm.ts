import { setImmediate, setTimeout } from "node:timers/promises";
import { Problem } from "../../src/problem.ts";
import type { Store } from "../../src/store/port/store.ts";
import { nextStep, type Position } from "./recipes.ts";
import type { Report } from "./reports.ts";

/** How a storm blows. */
export interface StormOptions {
  readonly store: Store;
  /** Names the process; lanes are `<process>.<number>`. */
  readonly process: string;
  /** How often the process was started before. */
  readonly life: number;
  /** Writers side by side. */
  readonly lanes: number;
  /** Between two steps of a lane, in milliseconds. */
  readonly pauseMs: number;
  /** Whether a refusal is an answer, or the disk has gone and nothing is known any more. */
  readonly onRefusal: "go on" | "fall silent";
  report(report: Report): void;
  isOver(): boolean;
}

/** Time after a refusal until a lane tries again, in milliseconds. */
const AFTER_REFUSAL_MS = 10;

/** Writes from all lanes until it is over; everything is reported before and after. */
export async function storm(options: StormOptions): Promise<void> {
  await Promise.all(Array.from({ length: options.lanes }, (_, number) => lane(options, number)));
}

async function lane(options: StormOptions, number: number): Promise<void> {
  const { store, process, life, pauseMs } = options;
  const name = `${process}.${number}`;
  // Each life begins at another recipe and slot.
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

/** @returns What went wrong, or `undefined`. */
async function advance({ report, onRefusal }: StormOptions, at: Position): Promise<unknown> {
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
