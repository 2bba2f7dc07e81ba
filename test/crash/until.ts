import { setTimeout as pause } from "node:timers/promises";

/** Default maximum wait, and default interval of the checks, in milliseconds. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 50;

/** Maximum wait, and interval of the checks, in milliseconds. */
interface Waiting {
  readonly patienceMs?: number;
  readonly everyMs?: number;
}

/** Waits until a condition is fulfilled. @throws {Error} When the maximum wait is over. */
export async function until(
  isSo: () => Promise<boolean>,
  { patienceMs = PATIENCE_MS, everyMs = LOOK_MS }: Waiting = {},
): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > end)
      throw new Error(`the condition was not fulfilled within ${patienceMs} ms`);
    await pause(everyMs);
  }
}
