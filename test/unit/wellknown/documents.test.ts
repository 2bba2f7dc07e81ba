import { describe, expect, it } from "vitest";
import type { Site } from "../../../src/answers/site.ts";
import { tools } from "../../../tools/index.ts";
import { extraAuthorizationServerMetadata } from "../../../wellknown/authorization-server.ts";
import { discoveryDocuments } from "../../../wellknown/index.ts";
import { siteLinks } from "../../../wellknown/links.ts";
import { agentAuthFaults } from "./agent-auth-rules.ts";
import { cardFaults } from "./card-schema.ts";
import { stepsOf } from "./commands.ts";
import { means, sites, textOf } from "./sites.ts";

/** URLs that identify versions and formats or appear in examples, and are never requested. */
const IDENTIFIERS =
  /^https?:\/\/(static\.modelcontextprotocol\.io\/schemas\/v1|schemas\.agentskills\.io\/discovery\/0\.2\.0|www\.sitemaps\.org\/schemas\/sitemap\/0\.9|www\.w3\.org\/2000\/svg|agent\.example\/|hooks\.example\.com\/)/;

const everywhere = Object.entries(sites) as readonly (readonly [string, Site])[];
const { ordinary } = sites;
const jsonOf = (path: string, site?: Site) => JSON.parse(textOf(path, site));

describe.each(everywhere)("the documents of an instance (%s)", (_what, site) => {
  it.each(discoveryDocuments.map(({ path }) => path))(
    "%s contains only URLs of the instance",
    (path) => {
      const text = textOf(path, site);
      const addresses = Array.from(
        text.matchAll(/\bhttps?:\/\/[^\s"`)<>]+/g),
        ([address]) => address,
      );
      const foreign = addresses.filter(
        (address) => !IDENTIFIERS.test(address) && new URL(address).origin !== site.baseUrl,
      );
      expect(foreign).toEqual([]);
      expect(text).not.toMatch(/undefined|\[object|NaN/);
    },
  );

  it("are identical whenever they are rendered", () => {
    for (const { path } of discoveryDocuments) expect(textOf(path, site)).toBe(textOf(path, site));
  });

  it("include an MCP server card that is valid by its schema", () => {
    expect(cardFaults(jsonOf("/.well-known/mcp/server-card.json", site))).toEqual([]);
  });

  it("describe agent registration in the format that agent scanners expect", () => {
    const { baseUrl } = site;
    const server = {
      issuer: baseUrl,
      registration_endpoint: `${baseUrl}/oauth/register`,
      revocation_endpoint: `${baseUrl}/oauth/revoke`,
      ...extraAuthorizationServerMetadata(site.baseUrl),
    };
    const resource = jsonOf("/.well-known/oauth-protected-resource", site);
    const authMd = textOf("/auth.md", site);
    expect(agentAuthFaults({ origin: baseUrl, resource, server, authMd })).toEqual([]);
  });
});

it("every document has a unique URL", () => {
  const all = discoveryDocuments.map(({ path }) => path);
  expect(all).toEqual([...new Set(all)]);
});

describe("the validation rules for documents", () => {
  it.each([
    [{ name: "market-signal" }, "/name"],
    [{ name: "a/b/c" }, "/name"],
    [{ version: "^1.0.0" }, "/version"],
    [{ description: "x".repeat(101) }, "/description"],
    [
      { $schema: "https://static.modelcontextprotocol.io/schemas/v1/server.schema.json" },
      "/$schema",
    ],
    [{ websiteUrl: "signals" }, "/websiteUrl"],
    [{ remotes: [{ type: "http", url: "https://signals.example" }] }, "/remotes/0/type"],
  ])("reject a server card with %j", (changes, where) => {
    const card = { ...jsonOf("/.well-known/mcp/server-card.json"), ...changes };
    expect(cardFaults(card).join()).toContain(where);
  });

  it("report what readers of the oldest and the newest metadata format would miss", () => {
    const { baseUrl } = ordinary;
    const { agent_auth } = extraAuthorizationServerMetadata(ordinary.baseUrl);
    const { claim_uri: _, ...lacking } = agent_auth;
    const faults = agentAuthFaults({
      origin: baseUrl,
      resource: {},
      server: { issuer: `${baseUrl}/`, agent_auth: { ...lacking, credential_types: [] } },
      authMd: "# Access",
    });
    expect(faults).toEqual([
      "auth.md has a level-one heading with its name",
      "the resource names its authorization server",
      "the resource has scopes",
      "the resource takes tokens in the header",
      "the issuer is where it was found",
      "the old names are there",
      "old and new names agree",
      "every address is of this origin",
      "registration and revocation are those of the metadata",
      "no member has a name that is not understood",
    ]);
  });
});

describe("the MCP server card", () => {
  it.each([
    ["https://signals.example", "example.signals/market-signal"],
    ["https://a.b.co.example:8443", "example.co.b.a/market-signal"],
    ["http://localhost:3000", "localhost/market-signal"],
    ["http://127.0.0.1:3000", "127.0.0.1/market-signal"],
    ["http://[::1]:3000", "---1-/market-signal"],
  ])("for %s has the name %s", (baseUrl, name) => {
    expect(jsonOf("/mcp/server-card", { ...ordinary, baseUrl }).name).toBe(name);
  });

  it("lists the protocol revisions that the endpoint supports, and contains no secret", () => {
    const { remotes } = jsonOf("/mcp/server-card");
    expect(remotes).toMatchObject([
      {
        url: "https://signals.example/mcp",
        supportedProtocolVersions: ordinary.mcp.versions,
        headers: [{ name: "Authorization", isSecret: true }],
      },
    ]);
    expect(JSON.stringify(remotes)).not.toContain('"value"');
  });
});

describe("the AI catalog", () => {
  it("has entries that are valid in every draft of the specification", () => {
    const { specVersion, host, entries } = jsonOf("/.well-known/ai-catalog.json");
    expect(specVersion).toBe("1.0");
    expect(host.displayName).toBe("Market Signal and Verification Service");
    expect(entries).toHaveLength(2);
    for (const entry of entries) {
      expect(entry.identifier).toMatch(/^urn:air:signals\.example:\w+:[\w-]+$/);
      expect(entry.displayName).not.toBe("");
      expect(entry.type).toBe(entry.mediaType);
      expect("url" in entry).not.toBe("data" in entry);
      expect(entry.representativeQueries.length).toBeGreaterThanOrEqual(2);
      expect(entry.representativeQueries.length).toBeLessThanOrEqual(5);
    }
  });
});

describe("the API catalog", () => {
  it("describes every endpoint that it lists, including the endpoints of the tools", () => {
    const [catalog, ...members] = jsonOf("/.well-known/api-catalog").linkset;
    const items = catalog.item.map(({ href }: { href: string }) => href);
    expect(members.map(({ anchor }: { anchor: string }) => anchor)).toEqual(items);
    for (const { routes } of tools) {
      const listed = routes.filter(({ path }) => !path.includes("{"));
      for (const { path } of listed) expect(items).toContain(ordinary.baseUrl + path);
    }
    const open = ["/api/apply", "/api/contact"].map((path) => ordinary.baseUrl + path);
    for (const member of members) {
      // An endpoint that needs no credential has no metadata of a protected resource.
      const meta = open.includes(member.anchor) ? [] : ["service-meta"];
      for (const relation of ["service-desc", "service-doc", ...meta]) {
        expect(member[relation]).toEqual([
          { href: expect.stringContaining(ordinary.baseUrl), type: expect.any(String) },
        ]);
      }
    }
  });
});

describe("robots.txt", () => {
  /** Parses groups of rules with the user agents they apply to (RFC 9309 section 2.1). */
  const groupsIn = (text: string) =>
    text
      .split("\n\n")
      .map((block) => Array.from(block.matchAll(/^([A-Za-z-]+): *(.*)$/gm), ([, ...pair]) => pair))
      .map((lines) => ({
        agents: lines.filter(([name]) => name === "User-agent").map(([, value]) => value),
        rules: lines.filter(([name]) => name !== "User-agent"),
      }));

  it("has the same rules and content signals for all crawlers and for the listed AI agents", () => {
    const text = textOf("/robots.txt");
    const [all, named] = groupsIn(text);
    expect(all?.agents).toEqual(["*"]);
    expect(named?.agents).toEqual(expect.arrayContaining(["GPTBot", "ClaudeBot", "PerplexityBot"]));
    expect(named?.rules).toEqual(all?.rules);
    expect(all?.rules).toEqual(
      expect.arrayContaining([
        ["Content-Signal", "search=yes, ai-input=yes, ai-train=no"],
        ["Disallow", "/oauth/"],
      ]),
    );
    expect(text).toContain("\nSitemap: https://signals.example/sitemap.xml\n");
  });

  it("does not block public pages", () => {
    const closed = (groupsIn(textOf("/robots.txt"))[0]?.rules ?? [])
      .filter(([name]) => name === "Disallow")
      .map(([, path = ""]) => path);
    const open = [...discoveryDocuments.map(({ path }) => path), "/", "/docs/api"];
    expect(open.filter((path) => closed.some((start) => path.startsWith(start)))).toEqual([]);
  });
});

describe("security.txt", () => {
  const fields = (today: string) => {
    const document = discoveryDocuments.find(({ path }) => path === "/.well-known/security.txt");
    const text = String(document?.render(ordinary, { ...means, today: new Date(today) }));
    return Object.fromEntries(Array.from(text.matchAll(/^(\w[\w-]*): (.*)$/gm), (m) => m.slice(1)));
  };

  it.each(["2026-11-21T00:00:00.000Z", "2026-11-21T23:59:59.999Z"])(
    "has the fields required by RFC 9116 when created at %s",
    (today) => {
      expect(fields(today)).toEqual({
        Contact: "https://signals.example/contact",
        Expires: "2027-02-19T00:00:00.000Z",
        "Preferred-Languages": "en",
        Canonical: "https://signals.example/.well-known/security.txt",
      });
    },
  );
});

describe("the published agent skills", () => {
  const { $schema, skills } = jsonOf("/.well-known/agent-skills/index.json") as {
    $schema: string;
    skills: readonly Readonly<Record<"name" | "type" | "description" | "url" | "digest", string>>[];
  };

  it("are listed in the format of discovery version 0.2.0", () => {
    expect($schema).toBe("https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    expect(skills.map(({ name }) => name)).toEqual([
      "market-signals",
      "register-agent",
      "alert-webhooks",
    ]);
  });

  it.each(skills)(
    "include $name, whose file matches its index entry and its directory",
    (skill) => {
      const { name, type, description, url, digest } = skill;
      expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(name.length).toBeLessThanOrEqual(64);
      expect(type).toBe("skill-md");
      expect(description.length).toBeLessThanOrEqual(1024);
      expect(url).toBe(`/.well-known/agent-skills/${name}/SKILL.md`);
      const text = textOf(url);
      expect(digest).toBe(`sha256:${means.sha256(text)}`);
      const [, front = "", body = ""] = /^---\n(.*?)\n---\n\n(.*)$/s.exec(text) ?? [];
      expect(front.split("\n").slice(0, 2)).toEqual([
        `name: ${name}`,
        `description: ${JSON.stringify(description)}`,
      ]);
      expect(body.startsWith("# ")).toBe(true);
      // A token has about four characters, and the format recommends fewer than 5,000 tokens.
      expect(body.length).toBeLessThan(20_000);
    },
  );
});

describe("llms.txt", () => {
  it("has a title, a summary, every tool, and sections of links", () => {
    const text = textOf("/llms.txt");
    expect(text).toMatch(/^# Market Signal and Verification Service\n\n> .+\n\n/);
    for (const { name } of tools) expect(text).toContain(`\`${name}\``);
    const [, ...sections] = text.split(/^## /m);
    expect(sections.length).toBeGreaterThan(1);
    for (const section of sections) {
      const [, ...items] = section.trim().split("\n");
      for (const item of items.filter((line) => line !== "")) {
        expect(item).toMatch(/^- \[[^\]]+\]\(https:\/\/signals\.example\/[^)]*\): .+$/);
      }
    }
  });
});

describe("sitemap.xml", () => {
  it("lists the public pages", () => {
    const text = textOf("/sitemap.xml");
    const pages = Array.from(
      text.matchAll(/<url><loc>([^<&]*)<\/loc><\/url>/g),
      ([, page]) => page,
    );
    expect(pages).toEqual([
      "https://signals.example/",
      "https://signals.example/track-record",
      "https://signals.example/docs/api",
      "https://signals.example/auth.md",
      "https://signals.example/llms.txt",
    ]);
    expect(text).toMatch(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n<urlset xmlns="[^"]+">\n/);
  });
});

describe("texts for agents", () => {
  const texts = discoveryDocuments.map(({ path }) => path).filter((path) => path.endsWith(".md"));

  it.each(texts)(
    "in %s have well-formed tables, and commands with a description of the response",
    (path) => {
      const text = textOf(path);
      expect(stepsOf(text).length).toBeGreaterThan(0);
      const rows = text.split("\n").filter((line) => line.startsWith("| "));
      const counts = rows.map((row) => row.split(" | ").length);
      for (const [at, row] of rows.entries()) {
        const isHead = !rows[at - 1] || row.startsWith("| ---");
        if (!isHead && !rows[at + 1]?.startsWith("| ---")) expect(counts[at]).toBe(counts[at - 1]);
      }
    },
  );

  it("do not offer registration when unclaimed agents have no scopes", () => {
    const { "for people only": closed } = sites;
    for (const path of ["/auth.md", "/.well-known/agent-skills/register-agent/SKILL.md"]) {
      const text = textOf(path, closed);
      expect(text).toContain("agents without an owner get no scopes");
      expect(text).not.toContain("grant_type=client_credentials");
    }
  });
});

it("Link headers are absolute and use registered relations", () => {
  const links = siteLinks(ordinary.baseUrl);
  expect(links.map(({ rel }) => rel)).toEqual([
    "api-catalog",
    "service-desc",
    "service-doc",
    "status",
    "describedby",
    "describedby",
  ]);
  for (const { href } of links) expect(href.startsWith("https://signals.example/")).toBe(true);
});
