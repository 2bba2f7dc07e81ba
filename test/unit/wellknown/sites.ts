import { createHash } from "node:crypto";
import { anonymousScopeCeiling } from "../../../src/access/scopes.ts";
import type { RenderContext, Site } from "../../../src/answers/site.ts";
import { discoveryDocuments } from "../../../wellknown/index.ts";

const site: Site = {
  baseUrl: "https://signals.example",
  name: "Market Signal and Verification Service",
  version: "1.0.0",
  anonymousScopes: anonymousScopeCeiling,
  market: "sandbox",
  mcp: { versions: ["2026-07-28", "2025-11-25"], capabilities: { tools: {} } },
};

/** Instances with different configurations, keyed by what distinguishes each instance. */
export const sites = {
  ordinary: site,
  "on localhost": { ...site, baseUrl: "http://127.0.0.1:3000" },
  "at an IPv6 address": { ...site, baseUrl: "http://[::1]:3000" },
  "with recorded market data": { ...site, market: "files" },
  "with a replay": { ...site, market: "replay" },
  "for people only": { ...site, anonymousScopes: [] },
} as const satisfies Readonly<Record<string, Site>>;

export const means: RenderContext = {
  today: new Date("2026-11-21T14:00:00.000Z"),
  sha256: (text) => createHash("sha256").update(text).digest("hex"),
};

/** Returns the text of one document of an instance. */
export function textOf(path: string, of: Site = site): string {
  const document = discoveryDocuments.find((each) => each.path === path);
  if (document === undefined) throw new Error(`no document at ${path}`);
  const content = document.render(of, means);
  return typeof content === "string" ? content : JSON.stringify(content);
}
