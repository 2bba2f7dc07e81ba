import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { runChecker } from "./checks-cli.ts";
import type { CheckResult } from "./checks-list.ts";
import { temporaryFolder } from "./process.ts";

const require = createRequire(import.meta.url);
const REDOCLY = require.resolve("@redocly/cli/bin/cli.js");
const SPECTRAL = require.resolve("@stoplight/spectral-cli/dist/index.js");

type Part = { readonly [name: string]: unknown };

/** A problem that Redocly reports. */
interface Warning {
  readonly ruleId: string;
  readonly severity: string;
  readonly message: string;
  readonly location: readonly { readonly pointer: string }[];
}

/** A justified warning: the reason, and the condition under which the reason applies. */
interface Explanation {
  readonly why: string;
  /** Whether the reason applies. @param path Steps of the JSON pointer of the warning. */
  readonly holds: (description: Part, path: readonly string[]) => boolean;
}

const explanations: Readonly<Record<string, Explanation>> = {
  "operation-4xx-response": {
    why: "there is nothing that a caller could do wrong",
    holds: (description, path) => {
      const { parameters, requestBody, security } = partAt(description, path.slice(0, -1));
      const isBare = [parameters].flat().every((one) => one === undefined) && !requestBody;
      return path.at(-2) === "get" && isBare && JSON.stringify(security) === "[]";
    },
  },
  "operation-2xx-response": {
    why: "it ends in a redirect",
    holds: (description, path) =>
      Object.keys(partAt(description, path)).some((status) => status.startsWith("3")),
  },
  "no-required-schema-properties-undefined": {
    why: "propertyNames and additionalProperties define the member",
    holds: (description, path) => {
      const { propertyNames, required } = partAt(description, path.slice(0, -2));
      const { enum: names = [] } = (propertyNames ?? {}) as { enum?: readonly unknown[] };
      return names.includes((required as readonly unknown[])[Number(path.at(-1))]);
    },
  },
  "no-unused-components": {
    why: "other schemas have all of its members, and the reference in Markdown names it for them",
    holds: (description, path) => {
      const membersOf = (schema: unknown) =>
        Object.keys((schema as Part | undefined)?.properties ?? {});
      const own = membersOf(partAt(description, path));
      const others = Object.entries(partAt(description, path.slice(0, -1)));
      return others.some(([name, schema]) => {
        const members = new Set(membersOf(schema));
        return name !== path.at(-1) && own.length > 0 && own.every((member) => members.has(member));
      });
    },
  },
};

/** The part of the document at a JSON pointer (RFC 6901). */
function partAt(description: Part, path: readonly string[]): Part {
  return path.reduce<Part>((part, step) => (part[step] ?? {}) as Part, description);
}

const stepsOf = (pointer: string): readonly string[] =>
  pointer
    .replace(/^#\//, "")
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

async function saved(description: Part): Promise<string> {
  const file = join(temporaryFolder(), "openapi.json");
  await writeFile(file, JSON.stringify(description));
  return file;
}

/** Runs Redocly with its recommended rules. */
export async function redoclyFaults(description: Part): Promise<CheckResult> {
  const file = await saved(description);
  const { code, printed, calls } = await runChecker(REDOCLY, ["lint", file, "--format=json"]);
  const { problems } = JSON.parse(printed) as { problems: readonly Warning[] };
  const left = problems.filter(({ ruleId, severity, location }) => {
    const explanation = severity === "error" ? undefined : explanations[ruleId];
    const path = stepsOf(location[0]?.pointer ?? "");
    return explanation?.holds(description, path) !== true;
  });
  const rules = [...new Set(problems.map(({ ruleId }) => ruleId))].filter(
    (rule) => rule in explanations,
  );
  return {
    faults: [
      ...left.map(({ ruleId, message, location }) =>
        [ruleId, message, location[0]?.pointer].join(" "),
      ),
      ...(code === 0 ? [] : [`it ended with ${code}`]),
      ...calls.map((host) => `it tried to call ${host}`),
    ],
    note: `${problems.length} warnings explained: ${rules.map((rule) => explanations[rule]?.why).join("; ")}`,
  };
}

/** Runs Spectral with its recommended OpenAPI rules, including hints. */
export async function spectralFaults(description: Part): Promise<CheckResult> {
  const file = await saved(description);
  const rules = join(temporaryFolder(), "rules.json");
  await writeFile(rules, JSON.stringify({ extends: ["spectral:oas"] }));
  const { code, printed, calls } = await runChecker(SPECTRAL, [
    ...["lint", file, "--ruleset", rules, "--format", "json", "--quiet"],
    ...["--fail-severity", "hint"],
  ]);
  const found = JSON.parse(printed) as readonly Part[];
  // Spectral looks for the scopes of OpenID Connect in the document, but OpenAPI 3.1 (Security Scheme
  // Object) has no place for them; they are in the discovery document.
  const isExplained = (rule: unknown, path: readonly string[]): boolean =>
    rule === "oas3-unused-component"
      ? explanations["no-unused-components"]?.holds(description, path) === true
      : rule === "oas3-operation-security-defined" && path.includes("openIdConnect");
  const left = found.filter(({ code: rule, path }) => !isExplained(rule, path as string[]));
  return {
    faults: [
      ...left.map(({ code: rule, message, path }) => `${rule} ${message} ${path}`),
      ...(code === 0 || left.length < found.length ? [] : [`it ended with ${code}`]),
      ...calls.map((host) => `it tried to call ${host}`),
    ],
  };
}
