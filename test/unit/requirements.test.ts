import { describe, expect, it } from "vitest";
import { requirements, SECOND_HOMES } from "../requirements.ts";
import { verifies } from "../support/verifies.ts";
import { type Tier, testFiles } from "../tiers.ts";

/**
 * Matches a call of `verifies` with its first argument, a literal or a list of literals, on a line
 * that is not a comment.
 */
const citation = /^(?!\s*(?:\/\/|\/?\*)).*?\bverifies\(\s*("[^"\n]*"|\[[^\]]*\])/gm;

/** The ids that a test file's source cites. */
function idsCitedIn(source: string): readonly string[] {
  return [...source.matchAll(citation)].flatMap(([, ids = ""]) => quotedIn(ids));
}

/** Returns the contents of double-quoted literals, except on commented lines. */
function quotedIn(list: string): readonly string[] {
  const literals = list.replace(/^\s*\/\/.*$/gm, "").matchAll(/"([^"\n]*)"/g);
  return [...literals].map(([, id = ""]) => id);
}

/**
 * Returns the cited ids, each with the first of the tiers quick, full and nightly in which a file
 * cites it.
 */
function tierOfCited(): ReadonlyMap<string, Tier> {
  const order: readonly Tier[] = ["nightly", "full", "quick"];
  const files = testFiles().toSorted((a, b) => order.indexOf(a.tier) - order.indexOf(b.tier));
  return new Map(files.flatMap(({ tier, source }) => idsCitedIn(source).map((id) => [id, tier])));
}

/** The files that cite each id, by id. */
function homesOfCited(): ReadonlyMap<string, ReadonlySet<string>> {
  const homes = new Map<string, Set<string>>();
  for (const { path, source } of testFiles()) {
    for (const id of idsCitedIn(source)) homes.set(id, (homes.get(id) ?? new Set()).add(path));
  }
  return homes;
}

function idsOf(entries: typeof requirements): readonly string[] {
  return entries.map(({ id }) => id);
}

describe("the listed requirements", () => {
  const cited = tierOfCited();
  const ids = idsOf(requirements);

  it("are each cited by a test", () => {
    const forgotten = requirements.filter(({ id }) => !cited.has(id));
    expect(idsOf(forgotten), "cited by no test").toEqual([]);
  });

  it("include every requirement that a test cites", () => {
    const unknown = [...cited.keys()].filter((id) => !ids.includes(id));
    expect(unknown, "cited but not listed").toEqual([]);
  });

  it("are tested in the test tier that they specify", () => {
    const moved = requirements.filter(({ id, tier }) => cited.get(id) !== tier);
    expect(idsOf(moved), "proved in another tier").toEqual([]);
  });

  it("are each proved in one file, or in a second one for a stated reason", () => {
    const several = [...homesOfCited()].filter(([, files]) => files.size > 1);
    const expected = Object.keys(SECOND_HOMES);
    expect(several.map(([id]) => id).sort(), "cited by several files").toEqual(expected.sort());
    expect(several.filter(([, files]) => files.size > 2)).toEqual([]);
  });

  it("have unique ids", () => {
    const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
    expect(repeated, "listed more than once").toEqual([]);
  });

  it("each have an id with a section and a slug, and one sentence", () => {
    const malformed = requirements.filter(
      ({ id, text }) => !/^\d+(\.\d+)?\/[a-z0-9-]+$/.test(id) || !/^\S.*\.$/.test(text),
    );
    expect(idsOf(malformed), "malformed id or text").toEqual([]);
  });
});

describe("a citation of requirements in a test", () => {
  // The name is kept separate from the parenthesis, so that these samples do not count as citations
  // in this file.
  const call = "verifies";

  it("is recognized with a single id, a list and a list over several lines", () => {
    const source = [
      `  ${call}("1/one", "is read", () => {});`,
      `  ${call}(["1/two", "1/three"], "is read", () => {});`,
      `  for (const sample of samples) ${call}(`,
      `    [`,
      `      "1/four",`,
      `      // "1/never",`,
      `      "1/five",`,
      `    ],`,
      `    "is read",`,
      `    () => {},`,
      `  );`,
    ].join("\n");
    expect(idsCitedIn(source)).toEqual(["1/one", "1/two", "1/three", "1/four", "1/five"]);
  });

  it("is not recognized in a comment, a test title or a longer function name", () => {
    const source = [
      `// ${call}("1/one", "is not read", () => {});`,
      `/* ${call}("1/two", "is not read", () => {});`,
      ` * ${call}("1/three", "is not read", () => {});`,
      `it("1/four", () => {});`,
      `nobody_${call}("1/five", "is not read", () => {});`,
    ].join("\n");
    expect(idsCitedIn(source)).toEqual([]);
  });

  it("throws when tests are collected, and reports the id, if the id is unknown or missing", () => {
    const run = () => {};
    const nowhere = "1/nowhere";
    const none: readonly string[] = [];
    expect(() => verifies(nowhere, "proves nothing", run)).toThrow(/1\/nowhere/);
    expect(() => verifies(none, "proves nothing", run)).toThrow(/no id/);
  });
});
