import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import pkg from "../../package.json" with { type: "json" };
import { memo } from "../lib/memo.ts";
import { hashProgram } from "./program-hash.ts";

/** Hash of the program's files, which `deploy/bundle.ts` puts in; absent in a checkout. */
declare const PACKAGED_PROGRAM_HASH: string | undefined;

/** Number of hexadecimal digits of a commit that are shown. */
const COMMIT_DIGITS = 12;

/**
 * What this process runs: the release and, as build metadata (semver 2.0.0, section 10), the hash
 * of the program's files, such as `1.0.0+5f3a9c21b7d4`. In a Git checkout the commit stands before
 * the hash: `1.0.0+db7019764c1e.5f3a9c21b7d4`. Two builds that differ never share a version. In a
 * checkout the first call reads all files, which takes up to 0.1 s.
 */
export const programVersion: () => string = memo(() => {
  if (typeof PACKAGED_PROGRAM_HASH === "string") return `${pkg.version}+${PACKAGED_PROGRAM_HASH}`;
  return checkoutVersion(fileURLToPath(new URL("../../", import.meta.url)));
});

/** The version of the program in a checkout. */
export function checkoutVersion(root: string): string {
  const commit = commitOf(root)?.slice(0, COMMIT_DIGITS);
  const build = [commit, hashProgram(root)].filter((part) => part !== undefined).join(".");
  return `${pkg.version}+${build}`;
}

/**
 * The commit that is checked out, read from Git's files (gitrepository-layout), since Git may not
 * be installed; `undefined` if it cannot be read.
 */
function commitOf(root: string): string | undefined {
  try {
    const folder = gitFolderOf(root);
    const head = readFileSync(join(folder, "HEAD"), "utf8").trim();
    const ref = /^ref: (.+)$/.exec(head)?.[1];
    const commit = ref === undefined ? head : readRef(folder, ref);
    return commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined;
  } catch {
    return undefined;
  }
}

/** The folder with `HEAD`; that of a worktree or submodule is elsewhere. */
function gitFolderOf(root: string): string {
  const path = join(root, ".git");
  try {
    const [, folder = ""] = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8")) ?? [];
    return isAbsolute(folder) ? folder : join(root, folder);
  } catch {
    return path;
  }
}

function readRef(folder: string, ref: string): string | undefined {
  const shared = textOrNone(join(folder, "commondir"))?.trim();
  const common = shared === undefined ? folder : isAbsolute(shared) ? shared : join(folder, shared);
  const loose = textOrNone(join(common, ref))?.trim();
  if (loose !== undefined) return loose;
  const packed = textOrNone(join(common, "packed-refs")) ?? "";
  const line = packed.split("\n").find((one) => one.endsWith(` ${ref}`));
  return line?.split(" ")[0];
}

function textOrNone(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
