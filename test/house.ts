/**
 * Prints statistics about the size and the import structure of the code:
 * `node test/house.ts [folder]`. The folder is a checkout of this project, so that two commits can
 * be compared; default: this checkout.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** A source file and its imports. */
interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** Imported source files, including those from which only types are imported. */
  readonly imports: ReadonlySet<string>;
  /**
   * Imported source files that are loaded at run time: those from which more than types is
   * imported.
   */
  readonly loaded: ReadonlySet<string>;
}

const ROOMS = ["src", "tools", "wellknown"];

/** Paths of recorded answers, which are data rather than code. */
const RECORDED = /fixtures\//;

/** A file of at most this many lines with a single importer could be merged into its importer. */
const SHORT_LINES = 40;

const IMPORT =
  /(?:^|\n)\s*(import|export)\s+(type\s)?([^;"']*?)\s*from\s*"(\.[^"]+)"|import\("(\.[^"]+)"\)|(?:^|\n)import "(\.[^"]+)"/g;

const root = process.argv[2] ?? join(import.meta.dirname, "..");
const tracked = (folders: readonly string[]): readonly string[] =>
  execFileSync("git", ["ls-files", ...folders], { cwd: root, encoding: "utf8" })
    .trim()
    .split("\n")
    .filter((path) => path !== "" && existsSync(join(root, path)));
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const linesOf = (text: string): number => text.split("\n").length - 1;

const files = tracked(ROOMS).filter((path) => !RECORDED.test(path));
const sources = files.filter((path) => /\.(ts|js)$/.test(path)).map(sourceAt);
const tests = tracked(["test"]).filter((path) => path.endsWith(".ts"));
const byPath = new Map(sources.map((source) => [source.path, source]));

function sourceAt(path: string): Source {
  const text = textOf(path);
  const imports = new Set<string>();
  const loaded = new Set<string>();
  for (const [, , isType, names = "", from, lazy, bare] of text.matchAll(IMPORT)) {
    const target = posix.join(posix.dirname(path), from ?? lazy ?? bare ?? "");
    imports.add(target);
    const named = names.replace(/[{}\s]/g, "").split(",");
    const isOnlyTypes =
      names.includes("{") &&
      /^(type\s+\w+(\s+as\s+\w+)?,?\s*)+$/.test(names.replace(/[{}]/g, "").trim());
    if (!isType && !isOnlyTypes && named.length > 0 && lazy === undefined) loaded.add(target);
  }
  return { path, text, lines: linesOf(text), imports, loaded };
}

const count = (pattern: RegExp): number =>
  sources.reduce((sum, { text }) => sum + Array.from(text.matchAll(pattern)).length, 0);

/**
 * All files that a file imports directly or indirectly; the file itself only if it is part of a
 * cycle.
 */
function reached(path: string, edges: (source: Source) => ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  const open = [path];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const source = byPath.get(next);
    const targets = source === undefined ? [] : [...edges(source)];
    open.push(...targets.filter((target) => byPath.has(target) && !found.has(target)));
    for (const target of targets) found.add(target);
  }
  return found;
}

/** Groups of files that import each other in a cycle. */
function circles(edges: (source: Source) => ReadonlySet<string>): readonly (readonly string[])[] {
  const reach = new Map(sources.map(({ path }) => [path, reached(path, edges)]));
  const inCircles = sources.map(({ path }) => path).filter((path) => reach.get(path)?.has(path));
  const groups = Map.groupBy(inCircles, (path) =>
    inCircles.filter((other) => reach.get(path)?.has(other) && reach.get(other)?.has(path)).join(),
  );
  return [...groups.values()];
}

const readers = new Map(sources.map(({ path }) => [path, 0]));
for (const { imports } of sources) {
  for (const target of imports) readers.set(target, (readers.get(target) ?? 0) + 1);
}
const splinters = sources.filter(
  ({ path, lines }) => lines <= SHORT_LINES && readers.get(path) === 1,
);
const sizes = sources.map(({ lines }) => lines).sort((a, b) => a - b);
const basenames = Map.groupBy(sources, ({ path }) => posix.basename(path));
const shared = [...basenames.values()].filter((group) => group.length > 1);
const importLines = sources.reduce((sum, { text }) => {
  const blocks = text.match(/(?:^|\n)import [^;]*;/g) ?? [];
  return sum + blocks.reduce((lines, block) => lines + block.trim().split("\n").length, 0);
}, 0);
const typeCircles = circles(({ imports }) => imports);

const aboveStore = sources.filter(({ path }) => !path.startsWith("src/store/"));

/** An import of the store's `Operation`; the description of the API has a type of the same name. */
const STORE_OPERATION = /import[^;]*\bOperation\b[^;]*from "[./]*store\/port\/records\.ts"/;

/** A loop or a recursion by which a writer tries again, in a file that commits by itself. */
const RETRY_LOOP = /for \(;;\)|while \(!\(await|\bupdateRecord\(/g;
const committing = aboveStore.filter(({ text }) =>
  /records\s*\.commit\(|updateRecord\(/.test(text),
);

/** Number of classes of limits, each of which has a number for the caller. */
function classesOfLimits(): number {
  const path = "src/limits/classes.ts";
  return byPath.has(path) ? (textOf(path).match(/^ {4}caller: \d/gm) ?? []).length : 0;
}

const rows: readonly (readonly [string, number | string])[] = [
  ["files", files.length],
  ["lines", files.reduce((sum, path) => sum + linesOf(textOf(path)), 0)],
  ["median lines of a source file", sizes[Math.floor(sizes.length / 2)] ?? 0],
  ["longest source file, lines", sizes.at(-1) ?? 0],
  ["test files", tests.length],
  ["test lines", tests.reduce((sum, path) => sum + linesOf(textOf(path)), 0)],
  ["interfaces", count(/(?:^|\n)\s*(?:export )?interface /g)],
  ["create* factories", count(/function create[A-Z]|const create[A-Z]\w* = /g)],
  ["Pick<", count(/\bPick</g)],
  ["spreads of literals", count(/\.\.\.\{ [a-z]/g)],
  ["lines of imports", importLines],
  [`files of at most ${SHORT_LINES} lines with one reader`, splinters.length],
  [
    "loose files at the root of src",
    sources.filter(({ path }) => path.split("/").length === 2 && path.startsWith("src/")).length,
  ],
  ["file names that several files share", `${shared.length} by ${shared.flat().length}`],
  ["circles of imports, values", circles(({ loaded }) => loaded).length],
  ["circles of imports, with types", typeCircles.length],
  [
    "files above the store that name its Operation",
    aboveStore.filter(({ text }) => STORE_OPERATION.test(text)).length,
  ],
  [
    "retry loops above the store",
    committing.reduce((sum, { text }) => sum + Array.from(text.matchAll(RETRY_LOOP)).length, 0),
  ],
  ["classes of limits", classesOfLimits()],
  ["README, bytes", Buffer.byteLength(textOf("README.md"))],
];
for (const [name, value] of rows) {
  const shown = typeof value === "number" ? value.toLocaleString("en-US") : value;
  process.stdout.write(`${name.padEnd(48)}${shown.padStart(12)}\n`);
}
if (process.argv.includes("--list")) {
  for (const { path, lines } of splinters) process.stdout.write(`one reader: ${path} (${lines})\n`);
  for (const circle of typeCircles) process.stdout.write(`circle: ${circle.join(" ")}\n`);
}
