// @module-tag full

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import pkg from "../../package.json" with { type: "json" };
import { scopeDescriptions } from "../../src/access/scopes.ts";
import { paths } from "../../src/lib/paths.ts";
import { tools } from "../../tools/index.ts";
import { printLines } from "../support/checks-list.ts";
import { type WalkedCall, walk } from "../support/checks-walk.ts";
import { startTestServiceProcess } from "../support/test-service-process.ts";
import { verifies } from "../support/verifies.ts";

/** Source files of the script. */
const sources = [
  "./blind-walk.test.ts",
  "../support/checks-walk.ts",
  "../support/checks-finding.ts",
  "../support/checks-arguments.ts",
].map((file) => ({ file, text: readFileSync(new URL(file, import.meta.url), "utf8") }));

/** The parts of a registration answer that a person needs. */
interface Claimable {
  readonly client_id: string;
  readonly claim: { readonly code: string };
}

const { baseUrl, person } = await startTestServiceProcess();
const walked = await walk({
  baseUrl,
  person: (registration) => {
    const { client_id, claim } = registration as unknown as Claimable;
    return person().claim(client_id, claim.code);
  },
});

/** Counts the outcomes of calls by tool. */
function table(calls: readonly WalkedCall[]): readonly string[] {
  const counts = Object.groupBy(calls, ({ tool }) => tool);
  return Object.entries(counts).map(([tool, own = []]) => {
    const ends = Object.groupBy(own, ({ outcome }) => outcome);
    const words = Object.entries(ends).map(([outcome, some]) => `${some.length} ${outcome}`);
    return `    ${tool}: ${words.join(", ")}`;
  });
}

const forbidden = walked.alone.filter(({ outcome }) => outcome === "forbidden");
const refused = [...walked.alone, ...walked.claimed].filter(({ outcome }) => outcome === "refused");

printLines([
  `blind walk from ${baseUrl}`,
  ...walked.steps.map((step) => `  ${step}`),
  "  a refusal for want of scope in full:",
  ...(forbidden[0]?.words.split("\n") ?? []).map((line) => `    ${line}`),
  "  calls by the agent alone:",
  ...table(walked.alone),
  "  calls after the claim:",
  ...table(walked.claimed),
]);

/** Returns the tools that succeeded at least once. */
const successful = (calls: readonly WalkedCall[]) =>
  new Set(calls.filter(({ outcome }) => outcome === "ok").map(({ tool }) => tool));

describe("a script that knows only the standards and the base URL", () => {
  verifies("1/discovery", "calls every tool, and every call within its scopes succeeds", () => {
    const names = walked.tools.map(({ name }) => name);
    expect(names.toSorted()).toEqual(tools.map(({ name }) => name).toSorted());
    expect(new Set(walked.alone.map(({ tool }) => tool))).toEqual(new Set(names));
    const open = names.filter((name) => !forbidden.some(({ tool }) => tool === name));
    expect(open.length).toBeGreaterThan(0);
    expect([...successful(walked.alone)].toSorted()).toEqual(open.toSorted());
  });

  it("calls every tool successfully once a person has claimed its agent", () => {
    expect([...successful(walked.claimed)].toSorted()).toEqual(
      walked.tools.map(({ name }) => name).toSorted(),
    );
    expect(walked.claimed.filter(({ outcome }) => outcome === "forbidden")).toEqual([]);
  });

  it("learns from the error which scope is missing and how to get it", () => {
    expect(forbidden.length).toBeGreaterThan(0);
    for (const { tool, scopes: named, words } of forbidden) {
      const needed = tools.find(({ name }) => name === tool)?.scopes ?? [];
      expect(named, tool).toEqual(needed);
      expect(words).toMatch(/^claim_required: .+ Say to the person: ".+ enter the code \w{8} /);
      expect(words).toContain(`open ${baseUrl}/claim?agent=`);
      expect(walked.advice).toMatch(new RegExp(`\\| \`${needed[0]}\` \\|.*\\| no \\|`));
    }
    expect(walked.advice).toMatch(/^## .*claimed$/m);
  });

  it("gets only documented errors, each with a hint on what to do next", () => {
    expect(refused.length).toBeGreaterThan(0);
    for (const { tool, sent, words } of refused) {
      const told = `${tool} ${JSON.stringify(sent)}: ${words}`;
      const [, code, rest = ""] = /^([a-z_]+): (.+)$/s.exec(words) ?? [];
      expect(walked.description, told).toContain(`"${code}"`);
      expect(code, told).not.toBe("internal_error");
      expect(rest, told).toMatch(/[.?] \S.+[.?]$/s);
    }
  });

  it("corrects a request with the help of an error that names the missing member", () => {
    const led = successful(walked.claimed.filter(({ isAdvised }) => isAdvised));
    const bare = refused.filter(({ tool, sent, isAdvised }) => !isAdvised && isLeast(tool, sent));
    expect(bare.length).toBeGreaterThan(0);
    expect(bare.filter(({ tool }) => !led.has(tool))).toEqual([]);
  });
});

/** Whether a call contained only the members that its tool requires. */
function isLeast(tool: string, sent: object): boolean {
  const { required = [] } = walked.tools.find(({ name }) => name === tool)?.inputSchema ?? {};
  return Object.keys(sent).length === required.length;
}

describe("the script", () => {
  const nouns = Object.keys(scopeDescriptions).map(
    (scope) => scope.split(":")[0]?.replace(/s$/, "") ?? "",
  );
  const own = Object.values(paths).filter((path) => !/^\/(\.well-known\/.*)?$/.test(path));
  const words = [
    ...nouns,
    ...Object.keys(scopeDescriptions),
    ...tools.map(({ name }) => name),
    ...tools.flatMap(({ routes }) => routes.map(({ path }) => path)),
    ...[pkg.name, pkg.name.replace("-", " "), pkg.name.split("-")[0] ?? ""],
    ...walked.said("symbol"),
  ].map((word) => word.toLowerCase());

  it.each(sources)("$file contains no knowledge of this service", ({ text }) => {
    expect(words.length).toBeGreaterThan(30);
    const known = words.filter((word) => text.toLowerCase().includes(word));
    const addressed = own.filter((path) => new RegExp(`["'\`}]${path}["'\`/?]`).test(text));
    expect([...known, ...addressed]).toEqual([]);
  });
});
