/**
 * Prints statistics about the size and the import structure of the code:
 * `node test/house.ts [folder] [--list]`. The folder is a checkout of this project, so that two
 * commits can be compared; default: this checkout. With `--check`, prints only what is wrong: an
 * import that points up or passes beside a door, or a number above its ceiling
 * (test/house/ceilings.json), and exits with 1 if anything is.
 */

import { join, posix } from "node:path";
import ceilings from "./house/ceilings.json" with { type: "json" };
import { crossings, faultsOf, PARTS, partOf, upwardImports } from "./house/doors.ts";
import { lineCount, openCheckout, type Source } from "./house/sources.ts";

const ROOMS = ["src", "tools", "wellknown"];

/** Paths of recorded answers, which are data rather than code. */
const RECORDED = /fixtures\//;

/** A file of at most this many lines with a single importer could be merged into its importer. */
const SHORT_LINES = 40;

const options = process.argv.slice(2);
const root = options.find((option) => !option.startsWith("--")) ?? join(import.meta.dirname, "..");
const { tracked, textOf, sourceAt } = openCheckout(root);

const files = tracked(ROOMS).filter((path) => !RECORDED.test(path));
const sources = files.filter((path) => /\.(ts|js)$/.test(path)).map(sourceAt);
const tests = tracked(["test"])
  .filter((path) => path.endsWith(".ts"))
  .map(sourceAt);
const byPath = new Map(sources.map((source) => [source.path, source]));
const crossed = crossings(sources);

const count = (pattern: RegExp): number =>
  sources.reduce((sum, { text }) => sum + Array.from(text.matchAll(pattern)).length, 0);

/** Groups of files that import each other in a cycle. */
function circles(loadedOnly: boolean): readonly (readonly string[])[] {
  const targetsOf = (path: string): readonly string[] =>
    (byPath.get(path)?.imports ?? [])
      .filter(({ isLoaded }) => isLoaded || !loadedOnly)
      .map((one) => one.path);
  const reached = (path: string): Set<string> => {
    const found = new Set<string>();
    const open = [path];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const targets = targetsOf(next);
      open.push(...targets.filter((target) => byPath.has(target) && !found.has(target)));
      for (const target of targets) found.add(target);
    }
    return found;
  };
  const reach = new Map(sources.map(({ path }) => [path, reached(path)]));
  const inCircles = sources.map(({ path }) => path).filter((path) => reach.get(path)?.has(path));
  const groups = Map.groupBy(inCircles, (path) =>
    inCircles.filter((other) => reach.get(path)?.has(other) && reach.get(other)?.has(path)).join(),
  );
  return [...groups.values()];
}

const readers = new Map(sources.map(({ path }) => [path, 0]));
for (const { imports } of sources) {
  for (const target of new Set(imports.map(({ path }) => path))) {
    readers.set(target, (readers.get(target) ?? 0) + 1);
  }
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
const typeCircles = circles(false);
const sumLines = (some: readonly Source[]): number => some.reduce((sum, one) => sum + one.lines, 0);

const aboveStore = sources.filter(({ path }) => partOf(path)?.name !== "store");

/** An import of the store's `Operation`; the description of the API has a type of the same name. */
const STORE_OPERATION = /import[^;]*\bOperation\b[^;]*from "[./]*store\/port\/records\.ts"/;

/** A loop by which a writer tries again, in a file that commits by itself. */
const RETRY_LOOP = /for \(;;\)|while \(!\(await/g;
const committing = aboveStore.filter(({ text }) =>
  /records\s*\.commit\(|transactOnce\(/.test(text),
);

const rows: readonly (readonly [string, number | string])[] = [
  ["files", files.length],
  ["lines", files.reduce((sum, path) => sum + lineCount(textOf(path)), 0)],
  ["median lines of a source file", sizes[Math.floor(sizes.length / 2)] ?? 0],
  ["longest source file, lines", sizes.at(-1) ?? 0],
  ["test files", tests.length],
  ["test lines", sumLines(tests)],
  ["parts", PARTS.length],
  ["imports across parts", crossed.length],
  [
    "names across parts",
    new Set(crossed.flatMap(({ to, names }) => names.map((name) => `${to} ${name}`))).size,
  ],
  ["files in doors", PARTS.reduce((sum, { door }) => sum + door.length, 0)],
  ["largest door, files", Math.max(...PARTS.map(({ door }) => door.length))],
  ["imports that point up", upwardImports(crossed).length],
  ["imports beside a door", crossed.filter(({ isBeside }) => isBeside).length],
  ["classes of limits", classesOfLimits()],
  ["settings", settings()],
  ["commands", tracked(["src/cli/commands"]).length],
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
  ["circles of imports, values", circles(true).length],
  ["circles of imports, with types", typeCircles.length],
  [
    "files above the store that name its Operation",
    aboveStore.filter(({ text }) => STORE_OPERATION.test(text)).length,
  ],
  [
    "retry loops above the store",
    committing.reduce((sum, { text }) => sum + Array.from(text.matchAll(RETRY_LOOP)).length, 0),
  ],
  ["README, bytes", Buffer.byteLength(textOf("README.md"))],
];

if (options.includes("--check")) check();
else print();

function print(): void {
  for (const [name, value] of rows) {
    const shown = typeof value === "number" ? value.toLocaleString("en-US") : value;
    process.stdout.write(`${name.padEnd(48)}${shown.padStart(12)}\n`);
  }
  if (!options.includes("--list")) return;
  process.stdout.write("\npart          files   lines   door  test lines for a line\n");
  for (const { name, door, lines, files: own, testLines } of sizesOfParts()) {
    const ratio = lines === 0 ? 0 : testLines / lines;
    process.stdout.write(
      `${name.padEnd(14)}${String(own).padStart(5)}${String(lines).padStart(8)}${String(door.length).padStart(7)}${ratio.toFixed(2).padStart(12)}\n`,
    );
  }
  for (const line of upwardImports(crossed)) process.stdout.write(`up: ${line}\n`);
  for (const { path, lines } of splinters) process.stdout.write(`one reader: ${path} (${lines})\n`);
  for (const circle of typeCircles) process.stdout.write(`circle: ${circle.join(" ")}\n`);
}

/** Prints what is wrong, and fails if anything is. */
function check(): void {
  const values = new Map(rows);
  const faults = [
    ...faultsOf(sources, crossed),
    ...(upwardImports(crossed).length > ceilings["imports that point up"]
      ? upwardImports(crossed)
      : []),
    ...Object.entries(ceilings).flatMap(([name, ceiling]) => {
      const value = values.get(name);
      return typeof value === "number" && value <= ceiling
        ? []
        : [`${name}: ${value}, above the ceiling of ${ceiling} in test/house/ceilings.json.`];
    }),
  ];
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

/** The parts with the size of their code, and of the tests that import more of them than of others. */
function sizesOfParts() {
  const testLines = new Map<string, number>();
  for (const { imports, lines } of tests) {
    const named = imports.flatMap(({ path }) => partOf(path)?.name ?? []);
    const counts = [...Map.groupBy(named, (name) => name)];
    const [main] = counts.sort(([, a], [, b]) => b.length - a.length)[0] ?? ["none"];
    testLines.set(main, (testLines.get(main) ?? 0) + lines);
  }
  return PARTS.map(({ name, door }) => {
    const own = sources.filter(({ path }) => partOf(path)?.name === name);
    const lines = sumLines(own);
    return { name, door, lines, files: own.length, testLines: testLines.get(name) ?? 0 };
  });
}

/** Number of environment variables that the program reads, by the tables of settings. */
function settings(): number {
  const tables = sources.filter(({ path }) => /^src\/config\/(provider-)?settings\.ts$/.test(path));
  const names = tables.flatMap(({ text }) => text.match(/^ {2,4}[A-Z][A-Z0-9_]+: /gm) ?? []);
  return new Set(names.map((name) => name.trim())).size;
}

/** Number of classes of limits, each of which has a number for the caller. */
function classesOfLimits(): number {
  const path = "src/limits/classes.ts";
  return byPath.has(path) ? (textOf(path).match(/^ {4}caller: \d/gm) ?? []).length : 0;
}
