import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A folder with third-party data that some tests need and that is not part of the project. */
export interface SharedFolder {
  readonly path: string;
  readonly isMissing: boolean;
}

/**
 * Finds a folder in ../shared, next to the project. If it is missing, prints which tests are
 * skipped.
 */
export function sharedFolder(name: string, tests: string): SharedFolder {
  const path = fileURLToPath(new URL(`../../../shared/${name}`, import.meta.url));
  const isMissing = !existsSync(path);
  if (isMissing) process.stderr.write(`\nSKIPPED: ${tests}: there is no ../shared/${name}\n\n`);
  return { path, isMissing };
}
