import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { ComputedLocks } from "./running.ts";

/**
 * Computes the hashes of the method and of the candidate. Compares them, and the list of the files
 * that decide on them, with what was locked (`npm run method`), or writes the locks (`--write`,
 * `npm run method:lock`), or prints all of it as JSON (`--print`).
 */

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The folder of the project, or of the code of the package. */
const root = new URL("../../", import.meta.url).href;

/** Modules of this project that are loaded from here on: everything that decides on the hashes. */
const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    const isOurs = url.startsWith(root) && !url.startsWith(`${root}node_modules/`);
    if (isOurs && !url.endsWith(".lock.json")) loaded.push(fileURLToPath(url));
    return next(url, context);
  },
});
const { candidateLock, methodLock, methodOutputs } = await import("./outputs.ts");

const outputs = methodOutputs();
const hashes = loaded.map((path): readonly [string, string] => [
  relative(here("."), path).replaceAll("\\", "/"),
  createHash("sha256").update(readFileSync(path)).digest("hex"),
]);
const computed = {
  method: methodLock(outputs),
  candidate: candidateLock(outputs),
  files: Object.fromEntries(hashes.sort(([a], [b]) => (a < b ? -1 : 1))),
} satisfies ComputedLocks;

const locks = {
  "../score/method.lock.json": computed.method,
  "../score/candidate.lock.json": computed.candidate,
  "locked-files.json": { program: "lock.ts", files: computed.files },
};

/** The members, or the files, in which a lock differs from what is on disk. */
function differences(path: string, lock: object): readonly string[] {
  const membersOf = ({ files = {}, ...rest }: { readonly files?: object }) =>
    new Map(Object.entries({ ...rest, ...files }));
  const is = membersOf(lock);
  const was = membersOf(JSON.parse(readFileSync(here(path), "utf8")));
  return [...new Set([...is.keys(), ...was.keys()])].filter(
    (name) => is.get(name) !== was.get(name),
  );
}

if (process.argv.includes("--print")) {
  process.stdout.write(`${JSON.stringify(computed)}\n`);
} else if (process.argv.includes("--write")) {
  for (const [path, lock] of Object.entries(locks)) {
    writeFileSync(here(path), `${JSON.stringify(lock, null, 2)}\n`);
  }
  process.stdout.write(`${computed.method.methodHash}\n`);
} else {
  for (const [path, lock] of Object.entries(locks)) {
    const differing = differences(path, lock);
    if (differing.length === 0) continue;
    const todo = path.startsWith("..")
      ? "If this was intended, raise METHOD_RELEASE (or the candidate's registration date) and run"
      : "The hashes of the method stay the same or are named above. Run";
    process.stderr.write(
      `The code differs from src/method/${path} (${differing.join(", ")}). ${todo}: npm run method:lock\n`,
    );
    process.exitCode = 1;
  }
}
