import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The tests of `npm test`, what `npm run test:full` adds to it, and what only the night has time for. */
export type Tier = "quick" | "full" | "nightly";

/** Marks a test that is not quick: a whole file by `@module-tag` in a comment at its top, a part of it
 *  by `tags` of `describe` or `it`. */
export type TestTag = Exclude<Tier, "quick">;

/** The tags and what they are for. */
export const tags = [
  { name: "full", description: "PostgreSQL, Chromium, independent checkers, conformance, cluster" },
  { name: "nightly", description: "what needs a machine to itself, or many minutes" },
] satisfies readonly { readonly name: TestTag; readonly description: string }[];

/** A test file with what its source says about tiers. */
interface TestFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  /** Tier of the file, before the tags of its parts. */
  readonly tier: Tier;
  /** Whether parts of it may have tags of their own. */
  readonly isMixed: boolean;
  readonly source: string;
}

const TEST_FOLDER = import.meta.dirname;

/** A tag in a comment of a file, as vitest reads it. */
const MODULE_TAG = /^\/\/ @module-tag (full|nightly)$/m;

/** What gives a part of a file a tag: one of its own, or a helper that runs tests on PostgreSQL. */
const PART = /\btags\b|\bdescribe(?:Stores|Engines|Postgres|OwnPostgres)\(/;

/** All test files, by their paths. */
export function testFiles(): readonly TestFile[] {
  const names = readdirSync(TEST_FOLDER, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".test.ts"))
    .sort()
    .map((name) => fileOf(name, readFileSync(join(TEST_FOLDER, name), "utf8")));
}

function fileOf(name: string, source: string): TestFile {
  const tier = (MODULE_TAG.exec(source)?.[1] ?? "quick") as Tier;
  return { path: `test/${name}`, tier, isMixed: PART.test(source), source };
}

/** The tests of each tier alone, as an expression over their tags. */
const FILTERS: Readonly<Record<Tier, string>> = {
  quick: "!full and !nightly",
  full: "full and !nightly",
  nightly: "nightly",
};

/** What a test starts the program with. */
const STARTS_PROGRAM =
  /\b(?:PROGRAM|marketSignal|runToEnd|spawnMain|startProcess|startTestServiceProcess)\b/;

/** What a run against the installed package takes: the end-to-end tests that start the program. */
export function packageSelection(): {
  readonly include: string[];
  readonly tagsFilter: string[];
} {
  const starts = ({ path, tier, source }: TestFile) =>
    path.startsWith("test/e2e/") && tier !== "nightly" && STARTS_PROGRAM.test(source);
  return {
    include: testFiles()
      .filter(starts)
      .map(({ path }) => path),
    tagsFilter: ["!nightly"],
  };
}

/** What a run of one tier alone takes: files that can have such tests, and which of their tests. */
export function selectionOf(tier: Tier): {
  readonly include: string[];
  readonly tagsFilter: string[];
} {
  const isIn = (file: TestFile) => file.tier === tier || (tier !== "quick" && file.isMixed);
  return {
    include: testFiles()
      .filter(isIn)
      .map(({ path }) => path),
    tagsFilter: [FILTERS[tier]],
  };
}
