import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** An import of another file of the project. */
export interface Import {
  /** Path of the imported file, from the root of the checkout. */
  readonly path: string;
  /** The imported names; empty for `import()` and for imports without names. */
  readonly names: readonly string[];
  /** Whether the file is loaded at run time at once: not for types and not for `import()`. */
  readonly isLoaded: boolean;
}

/** A source file and its imports. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly Import[];
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?([^;"']*?)\s*from\s*"(\.[^"]+)"|import\("(\.[^"]+)"\)|(?:^|\n)import "(\.[^"]+)"/g;

/** Reads the tracked files of a checkout. */
export function openCheckout(root: string) {
  const tracked = (folders: readonly string[]): readonly string[] =>
    execFileSync("git", ["ls-files", ...folders], { cwd: root, encoding: "utf8" })
      .trim()
      .split("\n")
      .filter((path) => path !== "" && existsSync(join(root, path)));
  const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
  const sourceAt = (path: string): Source => {
    const text = textOf(path);
    return { path, text, lines: lineCount(text), imports: importsOf(path, text) };
  };
  return { tracked, textOf, sourceAt };
}

/** Number of lines of a text. */
export const lineCount = (text: string): number => text.split("\n").length - 1;

function importsOf(path: string, text: string): readonly Import[] {
  return Array.from(text.matchAll(IMPORT), ([, isType, names = "", from, lazy, bare]) => {
    const target = posix.join(posix.dirname(path), from ?? lazy ?? bare ?? "");
    const named = names
      .replace(/[{}]/g, "")
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    const isOnlyTypes = names.includes("{") && named.every((name) => name.startsWith("type "));
    return {
      path: target,
      names: named.map((name) => name.replace(/^type /, "")),
      isLoaded: !isType && !isOnlyTypes && lazy === undefined,
    };
  });
}
