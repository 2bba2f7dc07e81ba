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
  /** Whether it tests the program from outside, so that it can also test the one in the package. */
  readonly isOfProgram: boolean;
  readonly source: string;
}

const TEST_FOLDER = import.meta.dirname;

/** A tag in a comment of a file, as vitest reads it. */
const MODULE_TAG = /^\/\/ @module-tag (full|nightly)$/m;

/** What gives a part of a file a tag: one of its own, or a helper that runs tests on PostgreSQL. */
const PART = /\btags\b|\bdescribe(?:Stores|Engines|Postgres|OwnPostgres)\(/;

/** What a test starts or installs the program with. */
const OF_PROGRAM =
  /\b(?:PROGRAM|marketSignal|runToEnd|spawnMain|startProcess|startTestServiceProcess|installedPackage)\b/;

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
  const isOfProgram = name.startsWith("e2e/") && OF_PROGRAM.test(source);
  return { path: `test/${name}`, tier, isMixed: PART.test(source), isOfProgram, source };
}

/** The tests of each tier alone, as an expression over their tags. */
const FILTERS: Readonly<Record<Tier, string>> = {
  quick: "!full and !nightly",
  full: "full and !nightly",
  nightly: "nightly",
};

/** What a run takes: files, and which of their tests. */
interface Selection {
  readonly include: string[];
  readonly tagsFilter: string[];
}

/** What the tests of the program take, which run on the installed package: those end to end that start
 *  it, in whichever tier, and those of the package itself. */
export function programSelection(): Selection {
  return selection(({ isOfProgram, tier }) => isOfProgram && tier !== "nightly", "!nightly");
}

/** What a run of one tier alone takes. The tests of the program in the full tier are not among them,
 *  since that tier runs them on the installed package. */
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
