/** Cleanup functions of the current test file, in order of registration. */
const endings: (() => unknown)[] = [];

/**
 * Registers a cleanup function that runs after the last test of the current file; the last
 * registered function runs first. Helpers use it instead of a top-level `afterAll`, because the
 * top-level code of a helper's module runs only for the first of the test files that a worker runs.
 */
export function atFileEnd(end: () => unknown): void {
  endings.push(end);
}

/** Runs all cleanup functions, even if one of them fails. @throws The first failure. */
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
