import { setTimeout as pause } from "node:timers/promises";

/** When waiting for something is given up, and how often is looked, in milliseconds. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 50;

/** How long something is waited for, and how often is looked, in milliseconds. */
interface Waiting {
  readonly patienceMs?: number;
  readonly everyMs?: number;
}

/** Waits until a condition holds. @throws {Error} When that takes too long. */
export async function until(
  isSo: () => Promise<boolean>,
  { patienceMs = PATIENCE_MS, everyMs = LOOK_MS }: Waiting = {},
): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`waited ${patienceMs} ms in vain`);
    await pause(everyMs);
  }
}
