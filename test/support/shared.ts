import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A folder of third-party data that some tests need and the project never contains. */
export interface SharedFolder {
  readonly path: string;
  readonly isMissing: boolean;
}

/** Finds a folder in ../shared beside the project; says loudly which tests its absence skips. */
export function sharedFolder(name: string, tests: string): SharedFolder {
  const path = fileURLToPath(new URL(`../../../shared/${name}`, import.meta.url));
  const isMissing = !existsSync(path);
  if (isMissing) process.stderr.write(`\nSKIPPED: ${tests}: there is no ../shared/${name}\n\n`);
  return { path, isMissing };
}
