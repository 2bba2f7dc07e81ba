import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import candidateLock from "../score/candidate.lock.json" with { type: "json" };
import methodLock from "../score/method.lock.json" with { type: "json" };

/**
 * Finds out which method this program runs, once per process, when it is loaded. The code of the
 * method is compared with the list of files that was written with the locks (`npm run
 * method:lock`). Only if a file differs, a child process computes the method's hash anew; that takes
 * about two seconds, so the result is kept until a file changes again.
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
export interface RunningMethod {
  /** SHA-256 of the constants and of the results on the invented market. */
  readonly methodHash: string;
  /**
   * First 16 digits of the hash, for the build metadata of a version; after `modified.` if the code
   * has another hash than the lock file, so that the method was never published.
   */
  readonly build: string;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const sha256 = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

const locked: LockedFiles = JSON.parse(readFileSync(here("locked-files.json"), "utf8"));

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

/** The hashes of the running code, from the lock files, from an earlier computation, or computed. */
function runningLocks(): Pick<ComputedLocks, "method" | "candidate"> {
  const published = { method: methodLock, candidate: candidateLock };
  const program = here(locked.program);
  // The program that computes the hashes loads this module, too.
  if (process.argv[1] === program) return published;
  const changed = differing(locked.files);
  if (changed.length === 0) return published;
  const state = sha256(JSON.stringify(changed.map((path) => [path, hashOf(path)])));
  // In node_modules only the user who installed the packages can write.
  const folder = here("../../node_modules/.cache/method/");
  const kept = readKept(`${folder}${state}.json`);
  // A file that is not in the list can decide only if one in the list loads it; the computed list
  // has it.
  if (kept !== undefined && differing(kept.files).length === 0) return kept;
  const text = execFileSync(process.execPath, [program, "--print"], { encoding: "utf8" });
  keep(folder, `${state}.json`, text);
  return JSON.parse(text) as ComputedLocks;
}

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

function identityOf({ methodHash }: ComputedLocks["method"], known: string): RunningMethod {
  const digits = methodHash.slice(0, 16);
  return { methodHash, build: methodHash === known ? digits : `modified.${digits}` };
}

const running = runningLocks();

/** The scoring method of the running code. */
export const runningMethod: RunningMethod = identityOf(running.method, methodLock.methodHash);

/** The candidate method of the running code. */
export const runningCandidate: RunningMethod = identityOf(
  running.candidate,
  candidateLock.methodHash,
);
