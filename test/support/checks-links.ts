/** Fetches a URL from the tested service. */
export type Get = (address: string, init?: RequestInit) => Promise<Response>;

/** A link and the page that contains it. */
interface Found {
  readonly address: string;
  /** URL of the page that has the link. */
  readonly on: string;
}

/** A link within the tested origin, with the response. */
interface Visited extends Found {
  readonly status: number;
  readonly mediaType: string;
}

/** The result of following all links. */
export interface Crawl {
  readonly visited: readonly Visited[];
  /** Links to other origins, which are not fetched. */
  readonly elsewhere: readonly Found[];
}

/** The paths of an OpenAPI document. */
interface Described {
  readonly paths?: Readonly<Record<string, object>>;
}

/**
 * Broken links. A 405 counts as broken, unless the OpenAPI document defines other methods for the
 * path.
 */
export function deadLinks({ visited }: Crawl, { paths = {} }: Described): readonly Visited[] {
  const endpoints = Object.entries(paths).filter(([, methods]) => !("get" in methods));
  const patterns = endpoints.map(([path]) => new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`));
  const isEndpoint = (address: string) =>
    patterns.some((pattern) => pattern.test(new URL(address).pathname));
  return visited.filter(
    ({ address, status }) =>
      status === 404 || status >= 500 || (status === 405 && !isEndpoint(address)),
  );
}

/** Media types whose text may contain links; scripts and styles are left out. */
const READABLE = /^(text\/(html|markdown|plain)|application\/([\w.-]+\+)?(json|xml))/;

/**
 * Maximum number of followed URLs that differ only in a ticker symbol or in query values; one
 * template produces all of them.
 */
const EACH_KIND = 50;

/**
 * The pattern of a URL: its path with ticker symbols replaced, and the names of its query
 * parameters.
 */
function kindOf(address: string): string {
  const { pathname, searchParams } = new URL(address);
  const path = pathname.replace(/\/[A-Z0-9]+[.-][A-Z]+/g, "/*");
  return [path, ...[...new Set(searchParams.keys())].sort()].join(" ");
}

/** Follows all links of an origin without a credential until no new URL appears. */
export async function crawl(origin: string, seeds: readonly string[], get: Get): Promise<Crawl> {
  const visited = new Map<string, Visited>();
  const elsewhere = new Map<string, Found>();
  const followed = new Map<string, number>();
  /** Whether the limit of URLs with the same pattern is not reached yet; counts this URL. */
  const isWanted = (address: string) => {
    const kind = kindOf(address);
    const count = followed.get(kind) ?? 0;
    followed.set(kind, count + 1);
    return count < EACH_KIND;
  };
  const waiting: Found[] = seeds.map((path) => ({ address: origin + path, on: "the beginning" }));
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const address = withoutFragment(next.address);
    if (new URL(address).origin !== origin) {
      elsewhere.set(address, next);
    } else if (!visited.has(address) && isWanted(address)) {
      const { response, links } = await linksAt(address, get);
      const mediaType = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
      visited.set(address, { ...next, address, status: response.status, mediaType });
      waiting.push(...links.map((link) => ({ address: link, on: address })));
    }
  }
  return { visited: [...visited.values()], elsewhere: [...elsewhere.values()] };
}

function withoutFragment(address: string): string {
  const url = new URL(address);
  url.hash = "";
  return url.href;
}

async function linksAt(address: string, get: Get) {
  const response = await get(address, { redirect: "manual" });
  const mediaType = response.headers.get("content-type") ?? "";
  const isText = READABLE.test(mediaType);
  const text = isText ? await response.text() : "";
  if (!isText) await response.body?.cancel();
  const header = `${response.headers.get("link") ?? ""} ${response.headers.get("location") ?? ""}`;
  const stated = mediaType.includes("html") ? linksOfHtml(text) : linksOfText(text);
  const links = [...stated, ...addressesIn(header)];
  return { response, links: links.flatMap((link) => resolved(link, address)) };
}

/**
 * Resolves a link against its page; an empty list for a URI template or a scheme other than HTTP.
 */
function resolved(link: string, base: string): readonly string[] {
  if (/[${}]|%7B/.test(link)) return [];
  const url = URL.parse(link, base);
  return url !== null && /^https?:$/.test(url.protocol) ? [url.href] : [];
}

/** Absolute URLs in a text, without punctuation at their end. */
export const addressesIn = (text: string): readonly string[] =>
  Array.from(text.matchAll(/\bhttps?:\/\/[^\s"'`<>\\|]+/g), ([address]) =>
    address.replace(/[.,;:!?)\]*]+$/, ""),
  );

/**
 * Links in a text: absolute URLs, Markdown links, and the members `url`, `href` and `src` of JSON.
 */
function linksOfText(text: string): readonly string[] {
  const relative = [
    ...text.matchAll(/\]\((\/[^)\s]*)\)/g),
    ...text.matchAll(/"(?:url|href|src)":\s*"(\/[^"]+)"/g),
  ].map(([, path = ""]) => path);
  return [...addressesIn(text), ...relative];
}

const linksOfHtml = (html: string): readonly string[] =>
  Array.from(html.matchAll(/<(a|link|script|img|form)\b[^>]*?\s(?:href|src|action)="([^"]*)"/g))
    .filter(([tag]) => !/method="post"/i.test(tag))
    .map(([, , link = ""]) => link.replaceAll("&amp;", "&"));
