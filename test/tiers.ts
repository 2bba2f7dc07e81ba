import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `quick`: the tests of `npm test`. `full`: those that `npm run test:full` adds. `nightly`: those
 * that take too long for both.
 */
export type Tier = "quick" | "full" | "nightly";

/**
 * Tag of a test that is not quick. A whole file is tagged by `@module-tag` in a comment at its top,
 * a part of a file by `tags` of `describe` or `it`.
 */
export type TestTag = Exclude<Tier, "quick">;

/** The tags, with descriptions for vitest. */
export const tags = [
  { name: "full", description: "PostgreSQL, Chromium, independent checkers, conformance, cluster" },
  { name: "nightly", description: "what needs a machine to itself, or many minutes" },
] satisfies readonly { readonly name: TestTag; readonly description: string }[];

/** A test file, with what its source reveals about its tier. */
interface TestFile {
  /** Path relative to the root of the repository. */
  readonly path: string;
  /** Tier of the file as a whole, regardless of the tags of its parts. */
  readonly tier: Tier;
  /** Whether parts of the file may have their own tags. */
  readonly isMixed: boolean;
  /**
   * Whether the file tests the program from outside, so that it can also run against the installed
   * package.
   */
  readonly isOfProgram: boolean;
  readonly source: string;
}

const TEST_FOLDER = import.meta.dirname;

/** The tag of a whole file in a comment, as vitest reads it. */
const MODULE_TAG = /^\/\/ @module-tag (full|nightly)$/m;

/**
 * Source text which shows that a part of a file has a tag: `tags`, or a helper that runs tests on
 * PostgreSQL.
 */
const PART = /\btags\b|\bdescribe(?:Stores|Engines|Postgres|OwnPostgres)\(/;

/** Helpers with which a test starts or installs the program. */
const OF_PROGRAM =
  /\b(?:PROGRAM|marketSignal|runToEnd|spawnMain|startProcess|startTestServiceProcess|installedPackage)\b/;

/** All test files, ordered by path. */
export function testFiles(): readonly TestFile[] {
  const names = readdirSync(TEST_FOLDER, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".test.ts"))
    .sort()
    .map((name) => fileOf(name, readFileSync(join(TEST_FOLDER, name), "utf8")));
}

function fileOf(name: string, source: string): TestFile {
  const tier = (MODULE_TAG.exec(source)?.[1] ?? "quick") as Tier;
  const isOfProgram = name.startsWith("e2e/") && OF_PROGRAM.test(source);
  return { path: `test/${name}`, tier, isMixed: PART.test(source), isOfProgram, source };
}

/** Tag expression that selects only the tests of a tier. */
const FILTERS: Readonly<Record<Tier, string>> = {
  quick: "!full and !nightly",
  full: "full and !nightly",
  nightly: "nightly",
};

/** Files and tag expression of a test run. */
interface Selection {
  readonly include: string[];
  readonly tagsFilter: string[];
}

/**
 * Selects the tests that run against the installed package: the end-to-end tests of the program in
 * the quick and full tiers.
 */
export function programSelection(): Selection {
  return selection(({ isOfProgram, tier }) => isOfProgram && tier !== "nightly", "!nightly");
}

/**
 * Selects the tests of one tier only. In the full tier, the tests of the program are left out,
 * because they run against the installed package.
 */
export function selectionOf(tier: Tier): Selection {
  const isIn = (file: TestFile) =>
    (file.tier === tier || (tier !== "quick" && file.isMixed)) &&
    !(tier === "full" && file.isOfProgram);
  return selection(isIn, FILTERS[tier]);
}

function selection(isIn: (file: TestFile) => boolean, tagsFilter: string): Selection {
  const include = testFiles()
    .filter(isIn)
    .map(({ path }) => path);
  return { include, tagsFilter: [tagsFilter] };
}
