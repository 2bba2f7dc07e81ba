import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The tests of `npm test`, what `npm run test:full` adds to it, and what only the night has time for. */
export type Tier = "quick" | "full" | "nightly";

/** Marks a test that is not quick: for a whole file as `@module-tag` in a comment at its top, for a part of it as `tags` of `describe` or `it`. */
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
  /** Whether parts of it are for the full tier. */
  readonly isMixed: boolean;
  readonly source: string;
}

const TEST_FOLDER = import.meta.dirname;

/** A tag in a comment of a file, as vitest reads it. */
const MODULE_TAG = /^\/\/ @module-tag (full|nightly)$/m;

/** What gives a part of a file a tag: one of its own, or a helper that runs tests on PostgreSQL. */
const PART = /tags: \[|\bdescribe(?:Stores|Engines|Postgres)\(/;

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
  return { path: `test/${name}`, tier, isMixed: tier === "quick" && PART.test(source), source };
}

/** What a run takes: the tests of a tier alone, the rest of a tier without the one before it. */
export function selectionOf(tier: Tier): {
  readonly include: string[];
  readonly tagsFilter: string[];
} {
  const isIn = (file: TestFile) => file.tier === tier || (tier === "full" && file.isMixed);
  return {
    include: testFiles()
      .filter(isIn)
      .map(({ path }) => path),
    tagsFilter: tier === "quick" ? ["!full and !nightly"] : [tier],
  };
}
