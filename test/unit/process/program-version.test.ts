import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import pkg from "../../../package.json" with { type: "json" };
import { checkoutVersion } from "../../../src/telemetry/program-version.ts";
import { temporaryFolder } from "../../support/process.ts";

const COMMIT = "db701976".padEnd(40, "0");
const OTHER = "5f3a9c21".padEnd(40, "0");

/** Writes files below a folder. */
function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Creates a checkout with a few files. @returns Its path. */
function checkout(git: Readonly<Record<string, string>> = {}): string {
  const folder = temporaryFolder();
  write(folder, {
    ...{ "package.json": "{}", "package-lock.json": "{}", "deploy/bundle.ts": "" },
    ...{ "src/a.ts": "a", "src/b/c.ts": "c", "tools/d.ts": "d", "wellknown/e.ts": "e" },
    ...{ "README.md": "read", ...git },
  });
  return folder;
}

const buildOf = (folder: string) => checkoutVersion(folder).slice(`${pkg.version}+`.length);

describe("the version of the program in a checkout", () => {
  it("is the release with a hash of the program's files, wherever they are", () => {
    expect(checkoutVersion(checkout())).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{12}$/);
    expect(buildOf(checkout())).toBe(buildOf(checkout()));
  });

  it("differs for every change of the program, and for no other change", () => {
    const folder = checkout();
    const builds = [buildOf(folder)];
    for (const path of ["src/a.ts", "tools/d.ts", "package-lock.json", "src/b/new.ts"]) {
      write(folder, { [path]: "changed" });
      builds.push(buildOf(folder));
    }
    renameSync(join(folder, "src/a.ts"), join(folder, "src/z.ts"));
    builds.push(buildOf(folder));
    expect(new Set(builds).size).toBe(builds.length);
    write(folder, { "README.md": "changed", "data/store.sqlite": "records" });
    expect(buildOf(folder)).toBe(builds.at(-1));
  });

  it.each([
    ["a branch", { ".git/HEAD": "ref: refs/heads/a/b\n", ".git/refs/heads/a/b": `${COMMIT}\n` }],
    ["no branch", { ".git/HEAD": `${COMMIT}\n` }],
    [
      "a packed branch",
      {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/packed-refs": `# pack-refs\n${OTHER} refs/heads/x/main\n${COMMIT} refs/heads/main\n`,
      },
    ],
    [
      "a worktree",
      {
        ".git": "gitdir: store/worktrees/one\n",
        "store/worktrees/one/HEAD": "ref: refs/heads/one\n",
        "store/worktrees/one/commondir": "../..\n",
        "store/refs/heads/one": `${COMMIT}\n`,
      },
    ],
  ])("names the commit on %s", (_, git) => {
    expect(buildOf(checkout(git))).toBe(`${COMMIT.slice(0, 12)}.${buildOf(checkout())}`);
  });

  it.each([
    { ".git/HEAD": "ref: refs/heads/unborn\n" },
    { ".git/HEAD": "ref: ../../../package.json\n" },
    { ".git": "gitdir: gone\n" },
  ])("names no commit where Git's files name none: %j", (git) => {
    expect(buildOf(checkout(git))).toBe(buildOf(checkout()));
  });
});
