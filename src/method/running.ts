import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { memo } from "../lib/memo.ts";
import candidateLock from "../score/candidate.lock.json" with { type: "json" };
import { CANDIDATE } from "../score/candidate.ts";
import methodLock from "../score/method.lock.json" with { type: "json" };
import { METHOD_RELEASE } from "../score/snapshot.ts";

/**
 * Finds out which method this program runs, once per process, when a version is first asked for.
 * The code of the method is compared with the list of files that was written with the locks (`npm
 * run method:lock`). Only if a file differs, a child process computes the method's hash anew; that
 * takes about two seconds, so the result is kept until a file changes again.
 */

/** SHA-256 by file; paths are relative to the folder of this module. */
type FileHashes = Readonly<Record<string, string>>;

/** Content of `locked-files.json`: the code that the hashes in the lock files belong to. */
export interface LockedFiles {
  /** The program that computes the hashes. */
  readonly program: string;
  /** Every file that the computation loads, without dependencies. */
  readonly files: FileHashes;
}

/** What the program `lock.ts` computes: the hashes, and the files that decide on them. */
export interface ComputedLocks {
  readonly files: FileHashes;
  readonly method: { readonly methodHash: string };
  readonly candidate: { readonly methodHash: string };
}

/** Identity of a method as the running code has it. */
interface RunningMethod {
  /**
   * SHA-256 of the constants and of the results on the invented market. Where it cannot be
   * computed, `unknown.` and the SHA-256 of the files that differ from the locked ones.
   */
  readonly methodHash: string;
  /**
   * Release, or name of the candidate, and first 16 digits of the hash as SemVer build metadata, as
   * shown in answers: `2.0.0+79371c8e93f60297`. `modified.` precedes the digits if the code has
   * another hash than the lock file, so that the method was never published; `modified.unknown.` if
   * its hash cannot be computed.
   */
  readonly version: string;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const sha256 = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** Hash of a file of the method; `undefined` if it cannot be read. */
function hashOf(path: string): string | undefined {
  try {
    return sha256(readFileSync(here(path)));
  } catch {
    return undefined;
  }
}

const differing = (files: FileHashes): readonly string[] =>
  Object.keys(files).filter((path) => hashOf(path) !== files[path]);

/**
 * The hashes of the running code, from the lock files, from an earlier computation, or computed.
 */
const runningLocks = memo((): Pick<ComputedLocks, "method" | "candidate"> => {
  const locked: LockedFiles = JSON.parse(readFileSync(here("locked-files.json"), "utf8"));
  const changed = differing(locked.files);
  if (changed.length === 0) return { method: methodLock, candidate: candidateLock };
  const state = sha256(JSON.stringify(changed.map((path) => [path, hashOf(path)])));
  // In node_modules only the user who installed the packages can write.
  const folder = here("../../node_modules/.cache/method/");
  const kept = readKept(`${folder}${state}.json`);
  // A file that is not in the list can decide only if one in the list loads it; the computed list
  // has it.
  if (kept !== undefined && differing(kept.files).length === 0) return kept;
  try {
    const text = execFileSync(process.execPath, [here(locked.program), "--print"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    keep(folder, `${state}.json`, text);
    return JSON.parse(text) as ComputedLocks;
  } catch (error) {
    const { stderr = "" } = error as { readonly stderr?: string };
    const [reason = String(error)] = /^\w*Error: .*$/m.exec(stderr) ?? [];
    process.stderr.write(
      `The hash of the changed method cannot be computed (${reason}): versions say modified.unknown. npm run method shows where.\n`,
    );
    const unknown = { methodHash: `${UNKNOWN}${state}` };
    return { method: unknown, candidate: unknown };
  }
});

function readKept(path: string): ComputedLocks | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** If the folder is not writable, every start computes the hashes again. */
function keep(folder: string, name: string, text: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    const next = `${folder}${name}.${process.pid}`;
    writeFileSync(next, text);
    renameSync(next, `${folder}${name}`);
  } catch {}
}

/** Precedes the digits of a hash that stands for one that cannot be computed. */
const UNKNOWN = "unknown.";

function identityOf(
  name: string,
  { methodHash }: ComputedLocks["method"],
  published: string,
): RunningMethod {
  const digits = methodHash.slice(0, methodHash.startsWith(UNKNOWN) ? UNKNOWN.length + 16 : 16);
  const mark = methodHash === published ? "" : "modified.";
  return { methodHash, version: `${name}+${mark}${digits}` };
}

/** Version of the locked method: the running one, unless its code was changed. */
export const PUBLISHED_METHOD_VERSION = `${methodLock.version}+${methodLock.methodHash.slice(0, 16)}`;

/** The scoring method of the running code. */
export const runningMethod = memo(() =>
  identityOf(METHOD_RELEASE, runningLocks().method, methodLock.methodHash),
);

/** The candidate method of the running code; its readings are recorded under this version. */
export const runningCandidate = memo(() =>
  identityOf(CANDIDATE.name, runningLocks().candidate, candidateLock.methodHash),
);
