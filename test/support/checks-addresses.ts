import type { Get } from "./checks-links.ts";

/** A public path of the interface, and its answer to an anonymous GET. */
interface Address {
  readonly path: string;
  /** Status of GET and HEAD; default: 200. */
  readonly status?: number;
  readonly type: string;
  /** Media types that the path can also send, by Accept. */
  readonly otherTypes?: readonly string[];
  /** Whether the answer has a validator and supports conditional requests; default: yes. */
  readonly isValidated?: false;
  /** Whether pages of any origin may read the answer (CORS); default: yes. */
  readonly isOpen?: false;
}

const JSON_TYPE = "application/json";
const CARD = "application/mcp-server-card+json";
const OPENAPI = "application/vnd.oai.openapi+json";
const MARKDOWN = "text/markdown";
const SKILLS = "/.well-known/agent-skills";

const metadata = { type: JSON_TYPE } as const;
/** HTML pages are for people; scripts of other origins cannot read them. */
const page = { type: "text/html", otherTypes: [MARKDOWN], isOpen: false } as const;

/** The paths of the interface (section 4.10), and further paths for discovery. */
const addresses: readonly Address[] = [
  { path: "/.well-known/oauth-authorization-server", ...metadata },
  { path: "/.well-known/openid-configuration", ...metadata },
  { path: "/.well-known/jwks.json", ...metadata, type: "application/jwk-set+json" },
  { path: "/.well-known/oauth-protected-resource", type: JSON_TYPE },
  { path: "/.well-known/oauth-protected-resource/mcp", type: JSON_TYPE },
  { path: "/.well-known/mcp/server-card.json", type: JSON_TYPE, otherTypes: [CARD] },
  { path: "/mcp/server-card", type: CARD, otherTypes: [JSON_TYPE] },
  {
    path: "/.well-known/ai-catalog.json",
    type: JSON_TYPE,
    otherTypes: ["application/ai-catalog+json"],
  },
  {
    path: "/.well-known/api-catalog",
    type: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
  },
  { path: `${SKILLS}/index.json`, type: JSON_TYPE },
  { path: `${SKILLS}/market-signals/SKILL.md`, type: MARKDOWN },
  { path: `${SKILLS}/register-agent/SKILL.md`, type: MARKDOWN },
  { path: `${SKILLS}/alert-webhooks/SKILL.md`, type: MARKDOWN },
  { path: "/docs/api/openapi.json", type: OPENAPI, otherTypes: [JSON_TYPE] },
  { path: "/docs/api", ...page },
  { path: "/", ...page },
  { path: "/robots.txt", type: "text/plain" },
  { path: "/sitemap.xml", type: "application/xml" },
  { path: "/llms.txt", type: "text/plain" },
  { path: "/auth.md", type: MARKDOWN },
  { path: "/.well-known/security.txt", type: "text/plain" },
  {
    path: "/mcp",
    status: 405,
    type: "application/problem+json",
    isValidated: false,
    isOpen: false,
  },
];

/** The public paths without their expectations. */
export const addressPaths: readonly string[] = addresses.map(({ path }) => path);

/**
 * Faults of all public paths in their answers to GET, HEAD, conditional requests and preflights.
 */
export async function addressFaults(base: string, get: Get): Promise<readonly string[]> {
  const all = await Promise.all(addresses.map((address) => faultsAt(address, base, get)));
  return all.flat();
}

async function faultsAt(address: Address, base: string, get: Get): Promise<readonly string[]> {
  const { path, status = 200, type, otherTypes = [] } = address;
  // Requests identity encoding, because `fetch` decompresses the body, whose length would differ
  // from Content-Length.
  const ask = (init?: RequestInit) => {
    const headers = new Headers(init?.headers);
    headers.set("accept-encoding", "identity");
    return get(base + path, { redirect: "manual", ...init, headers });
  };
  const first = await ask();
  const body = await first.bytes();
  const typed = await Promise.all(
    otherTypes.map(async (accept) => ({
      accept,
      sent: typeOf(await ask({ headers: { accept } })),
    })),
  );
  const rules = {
    [`answers ${status}, not ${first.status}`]: first.status === status,
    [`is ${type}, not ${typeOf(first)}`]: isOfType(typeOf(first), type),
    ...Object.fromEntries(
      typed.map(({ accept, sent }) => [`can be ${accept}, not ${sent}`, isOfType(sent, accept)]),
    ),
    "varies by what is accepted": otherTypes.length === 0 || varies(first),
    "is not empty": body.length > 0,
    ...(await headRules(first, body, await ask({ method: "HEAD" }))),
    ...(address.isValidated === false ? {} : await conditionRules(first, ask)),
    ...(address.isOpen === false ? {} : await openRules(first, ask)),
  };
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [`${path}: ${rule}`]));
}

type Rules = Readonly<Record<string, boolean>>;
type Ask = (init?: RequestInit) => Promise<Response>;

const typeOf = ({ headers }: Response): string => headers.get("content-type") ?? "";
const isOfType = (sent: string, type: string): boolean =>
  sent === type || sent.startsWith(`${type};`);
const varies = ({ headers }: Response): boolean =>
  /(^|,)\s*accept\s*(,|$)/i.test(headers.get("vary") ?? "");

/** Response headers that describe the connection or differ between requests. */
const passing = [
  ...["date", "connection", "keep-alive", "transfer-encoding", "set-cookie"],
  ...["x-request-id", "ratelimit", "ratelimit-policy"],
];

function fieldsOf({ headers }: Response): string {
  return JSON.stringify([...headers].filter(([name]) => !passing.includes(name)));
}

async function headRules(first: Response, body: Uint8Array, head: Response): Promise<Rules> {
  // The text of an error contains the method, so the lengths for HEAD and GET may differ.
  const isAlike = first.ok ? fieldsOf(head) === fieldsOf(first) : typeOf(head) === typeOf(first);
  return {
    "answers HEAD as GET": head.status === first.status && isAlike,
    "says its length": Number(first.headers.get("content-length")) === body.length,
    "has no body for HEAD": (await head.text()) === "",
  };
}

async function conditionRules(first: Response, ask: Ask): Promise<Rules> {
  const etag = first.headers.get("etag") ?? "";
  const known = await ask({ headers: { "if-none-match": etag } });
  const unknown = await ask({ headers: { "if-none-match": '"other"' } });
  return {
    "has a strong validator": /^"[^"]+"$/.test(etag),
    "is not sent again to who has it": known.status === 304 && (await known.text()) === "",
    "keeps its validator": known.headers.get("etag") === etag,
    "is sent to who has another": unknown.status === 200,
    "may be kept": /max-age|no-cache/.test(first.headers.get("cache-control") ?? ""),
  };
}

async function openRules(first: Response, ask: Ask): Promise<Rules> {
  const headers = {
    origin: "https://elsewhere.example",
    "access-control-request-method": "GET",
    "access-control-request-headers": "if-none-match",
  };
  const preflight = await ask({ method: "OPTIONS", headers });
  const allowed = preflight.headers.get("access-control-allow-headers") ?? "";
  return {
    "may be read by any page": first.headers.get("access-control-allow-origin") === "*",
    "answers a preflight": preflight.ok && /if-none-match/i.test(allowed),
    "exposes its validator": /etag/i.test(first.headers.get("access-control-expose-headers") ?? ""),
  };
}
