/** Cleanup functions of the current test file, in the order of the starts. */
const endings: (() => unknown)[] = [];

/**
 * Ends something when the tests of the present file have run, the newest first. Use it in place of
 * `afterAll` at the top of a helper: files of one worker share a helper's module, so that its top
 * runs for the first of them alone.
 */
export function atFileEnd(end: () => unknown): void {
  endings.push(end);
}

/** Ends everything, also after a failure. Throws the first failure. */
export async function endFile(): Promise<void> {
  const failures: unknown[] = [];
  for (let end = endings.pop(); end !== undefined; end = endings.pop()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
