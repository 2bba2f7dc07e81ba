// @module-tag full

import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import LinkHeader from "http-link-header";
import * as oauth from "oauth4webapi";
import robotsParser from "robots-parser";
import { validate } from "skills-ref";
import { afterAll, expect, it } from "vitest";
import { discoveryDocuments } from "../../wellknown/index.ts";
import { addressFaults, addressPaths } from "../support/checks-addresses.ts";
import { type Crawl, crawl, deadLinks } from "../support/checks-links.ts";
import {
  type Check,
  type CheckOutcome,
  printCheckOutcomes,
  runCheck,
} from "../support/checks-list.ts";
import { redoclyFaults, spectralFaults } from "../support/checks-openapi.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";
import { LOOSE_LIMITS } from "../support/test-service.ts";

import { cardFaults } from "../unit/wellknown/card-schema.ts";

/** Sessions last a day, so that the content does not change during the checks. */
const { baseUrl } = await startProcess({
  RATE_LIMITS: LOOSE_LIMITS,
  SANDBOX_SESSION_SECONDS: "86400",
});

const at = (path: string, init?: RequestInit) => fetch(baseUrl + path, init);
const textAt = async (path: string) => (await at(path)).text();
const jsonAt = async (path: string) => (await at(path)).json() as Promise<Record<string, unknown>>;

const insecure = { [oauth.allowInsecureRequests]: true };

/** Returns the names of the rules that do not hold. */
const broken = (rules: Readonly<Record<string, boolean>>): readonly string[] =>
  Object.keys(rules).filter((rule) => !rules[rule]);

/** A check that consists of several named rules. */
const ruled = (name: string, rules: () => Promise<Readonly<Record<string, boolean>>>): Check => ({
  name,
  run: async () => ({ faults: broken(await rules()) }),
});

interface SkillEntry {
  readonly name: string;
  readonly url: string;
  readonly digest: string;
}

const { skills } = (await jsonAt("/.well-known/agent-skills/index.json")) as unknown as {
  readonly skills: readonly SkillEntry[];
};

/** Validates a skill after storing it as a verifying client does. */
const skillCheck = ({ name, url, digest }: SkillEntry): Check => ({
  name: `skills-ref 0.1.5 validates the skill ${name}`,
  run: async () => {
    const bytes = await (await at(url)).bytes();
    const folder = join(temporaryFolder(), name);
    await mkdir(folder);
    await writeFile(join(folder, "SKILL.md"), bytes);
    const wrong = await validate(folder);
    const sha256 = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    return { faults: [...wrong, ...broken({ "it has its digest": sha256 === digest })] };
  },
});

/** Checks that run strict discovery, which throws at the first fault. */
const discoveryChecks: readonly Check[] = [
  ...(["oauth2", "oidc"] as const).map((algorithm) => ({
    name: `oauth4webapi 3.8.8 discovers the issuer by ${algorithm}`,
    run: async () => {
      const issuer = new URL(baseUrl);
      const found = await oauth.discoveryRequest(issuer, { ...insecure, algorithm });
      const server = await oauth.processDiscoveryResponse(issuer, found);
      return { faults: broken({ "the issuer is the base address": server.issuer === baseUrl }) };
    },
  })),
  ...["", "/mcp"].map((path) => ({
    name: `oauth4webapi 3.8.8 discovers the resource ${path || "/"}`,
    run: async () => {
      const resource = new URL(baseUrl + path);
      const found = await oauth.resourceDiscoveryRequest(resource, insecure);
      const read = await oauth.processResourceDiscoveryResponse(resource, found);
      const servers = JSON.stringify(read.authorization_servers);
      return { faults: broken({ "it names its server": servers === `["${baseUrl}"]` }) };
    },
  })),
];

const aiAgents = ["GPTBot", "ClaudeBot", "PerplexityBot", "Google-Extended", "CCBot"];

async function robotsRules() {
  const address = `${baseUrl}/robots.txt`;
  const text = await textAt("/robots.txt");
  // The package's types declare a default export, which does not exist at run time.
  const parse = robotsParser as unknown as typeof robotsParser.default;
  const robots = parse(address, text);
  const mayRead = (path: string, agent: string) => robots.isAllowed(baseUrl + path, agent) === true;
  const open = ["/", "/docs/api", ...discoveryDocuments.map(({ path }) => path)];
  const closed = ["/oauth/authorize?client_id=x", "/account", "/sign-in", "/claim"];
  const readers = ["Somebot", ...aiAgents];
  return {
    "what is public may be read": readers.every((agent) => open.every((p) => mayRead(p, agent))),
    "pages of one person may not": readers.every((agent) => !closed.some((p) => mayRead(p, agent))),
    "the site map is named": robots.getSitemaps().join() === `${baseUrl}/sitemap.xml`,
    "agents for AI have rules of their own": aiAgents.every(
      (agent) => robots.getMatchingLineNumber(`${baseUrl}/oauth/x`, agent) > 0,
    ),
    "a signal says what content may be used for": /^Content-Signal: search=/m.test(text),
  };
}

/** Link relations for discovery by unknown clients (RFC 8631, RFC 9727). */
const relations = ["api-catalog", "service-desc", "service-doc", "status", "describedby"];

async function linkRules() {
  const [page, api, catalog] = await Promise.all([
    at("/", { method: "HEAD" }),
    at("/api/signals"),
    at("/.well-known/api-catalog", { method: "HEAD" }),
  ]);
  const linksOf = ({ headers }: Response) => LinkHeader.parse(headers.get("link") ?? "");
  const has = (response: Response) =>
    relations.every((relation) => linksOf(response).rel(relation).length > 0);
  const { refs } = linksOf(page);
  const typed = await Promise.all(
    refs.map(async ({ uri, type }) => {
      // A URL can have several media types, among which the request chooses (RFC 9110 section 12).
      const there = await fetch(uri, { headers: { accept: type ?? "*/*" } });
      return typeOf(there) === (type ?? "");
    }),
  );
  return {
    "the home page has them all": has(page),
    "a refusal of the API has them all": has(api),
    "the catalog names itself": linksOf(catalog).rel("api-catalog")[0]?.uri === catalog.url,
    "each has the type of what is there": typed.every(Boolean),
  };
}

const typeOf = ({ headers }: Response): string =>
  (headers.get("content-type") ?? "").replace(/;.*/, "");

/** Rules for the links in both catalogs: each target exists and has the stated media type. */
async function catalogRules() {
  const { linkset } = (await jsonAt("/.well-known/api-catalog")) as unknown as {
    readonly linkset: readonly Record<string, readonly { href: string; type?: string }[]>[];
  };
  const { entries } = (await jsonAt("/.well-known/ai-catalog.json")) as unknown as {
    readonly entries: readonly { url: string; type: string }[];
  };
  const links = [
    ...linkset.flatMap((context) => Object.values(context).filter(Array.isArray).flat()),
    ...entries.map(({ url, type }) => ({ href: url, type })),
  ].filter(({ type }) => type !== undefined);
  const right = await Promise.all(
    links.map(async ({ href, type }) => [`${href} is ${type}`, typeOf(await fetch(href)) === type]),
  );
  return { "there are some": links.length > 10, ...Object.fromEntries(right) };
}

async function sitemapRules() {
  const text = await textAt("/sitemap.xml");
  const pages = Array.from(text.matchAll(/<loc>([^<]+)<\/loc>/g), ([, page = ""]) => page);
  const answers = await Promise.all(pages.map((page) => fetch(page, { redirect: "manual" })));
  return {
    "it is a urlset of the protocol 0.9": /^<\?xml [^>]+>\s*<urlset xmlns="[^"]+\/0\.9">/.test(
      text,
    ),
    "it names the home page": pages.includes(`${baseUrl}/`),
    ...Object.fromEntries(answers.map(({ url, status }) => [`${url} is there`, status === 200])),
  };
}

/** URLs at which a client that knows only the standards begins. */
const seeds = ["/", "/robots.txt", "/.well-known/ai-catalog.json", "/.well-known/security.txt"];

/** Matches format identifiers and example hosts (RFC 2606), which are never requested. */
const NEVER_CALLED =
  /^https:\/\/(static\.modelcontextprotocol\.io|schemas\.agentskills\.io|[\w.-]+\.example(\.com)?)\/|^http:\/\/www\.sitemaps\.org\//;

async function linkFaults(crawled: Crawl): Promise<readonly string[]> {
  const { visited, elsewhere } = crawled;
  const seen = new Set(visited.map(({ address }) => address));
  const dead = deadLinks(crawled, await jsonAt("/docs/api/openapi.json"));
  const foreign = elsewhere.filter(({ address }) => !NEVER_CALLED.test(address));
  const unlinked = discoveryDocuments.filter(({ path }) => !seen.has(baseUrl + path));
  return [
    ...dead.map(({ address, status, on }) => `${address} answers ${status}, linked on ${on}`),
    ...foreign.map(({ address, on }) => `${address} is of somebody else, linked on ${on}`),
    ...unlinked.map(({ path }) => `no link leads to ${path}`),
  ];
}

/** Paths that scanners guess but that do not exist. */
const nowhere = [
  ...["/nothing", "/index.html", "/api", "/api/v1", "/openapi.json", "/docs", "/docs/api/x"],
  ...["/mcp/x", "/oauth", "/oauth/x", "/llms-full.txt", "/x.md", "/.env", "/wp-login.php"],
  ...[
    "agent-card.json",
    "mcp.json",
    "mcp/server-cards.json",
    "agent-configuration",
    "ucp",
    "x",
  ].map((name) => `/.well-known/${name}`),
  ...["http-message-signatures-directory", "skills/index.json", "agent-skills/x/SKILL.md"].map(
    (name) => `/.well-known/${name}`,
  ),
];

async function nowhereRules() {
  const rules = nowhere.flatMap((path) =>
    ["GET", "HEAD", "POST"].map(async (method) => {
      const headers = { accept: "application/json, */*;q=0.8" };
      const response = await at(path, { method, headers, redirect: "manual" });
      const isProblem = typeOf(response) === "application/problem+json";
      const body = await response.text();
      const isSaid = method === "HEAD" || JSON.parse(body).status === 404;
      return [`${method} ${path}`, response.status === 404 && isProblem && isSaid] as const;
    }),
  );
  return Object.fromEntries(await Promise.all(rules));
}

const checks: readonly Check[] = [
  {
    name: "redocly 2.77.0 lints the OpenAPI description",
    run: async () => redoclyFaults(await jsonAt("/docs/api/openapi.json")),
  },
  {
    name: "spectral 6.16.3 lints the OpenAPI description with the rule set spectral:oas",
    run: async () => spectralFaults(await jsonAt("/docs/api/openapi.json")),
  },
  ...["/.well-known/mcp/server-card.json", "/mcp/server-card"].map((path) => ({
    name: `ajv 8.20.0 validates ${path} by the v1 schema`,
    run: async () => ({ faults: cardFaults(await jsonAt(path)) }),
  })),
  ...skills.map(skillCheck),
  ...discoveryChecks,
  ruled("robots-parser 3.0.1 reads robots.txt", robotsRules),
  ruled("http-link-header 1.1.4 reads the Link headers", linkRules),
  ruled("catalogs state the media types of the documents that they link to", catalogRules),
  ruled("every page in the site map exists", sitemapRules),
  {
    name: "every link of every document and page leads to an existing page",
    run: async () => {
      const crawled = await crawl(baseUrl, seeds, fetch);
      const { visited, elsewhere } = crawled;
      const note = `${visited.length} addresses here, ${elsewhere.length} elsewhere`;
      return { faults: await linkFaults(crawled), note };
    },
  },
  {
    name: "GET, HEAD, types, validators and CORS agree at every address",
    run: async () => ({
      faults: await addressFaults(baseUrl, fetch),
      note: `${addressPaths.length} addresses`,
    }),
  },
  ruled("unknown paths are answered with 404 and JSON", nowhereRules),
];

const outcomes: CheckOutcome[] = [];
afterAll(() => printCheckOutcomes(outcomes));

// The crawl fetches a thousand URLs sequentially, hence the long timeout.
it.each(checks)("$name", { timeout: 600_000 }, async (check) => {
  const outcome = await runCheck(check);
  outcomes.push(outcome);
  expect(outcome.faults).toEqual([]);
});
