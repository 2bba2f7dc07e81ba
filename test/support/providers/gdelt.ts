import { allowance } from "./allowance.ts";
import { chatter } from "./chatter.ts";
import type { Serve, ServedAnswer } from "./drive.ts";

/** Topics of the simulated news. */
export interface NewsWorld {
  /** Names in headlines by search phrase in lower case: `apple inc` → `Apple`. */
  readonly topics: ReadonlyMap<string, string>;
  /** Length of an interval with one article per topic, in milliseconds. */
  readonly everyMs: number;
}

const EVERY_MS = 5_000;
const ROUND_MS = 15 * 60_000;

/** How far back the search reaches, in milliseconds: three months. */
const KEPT_MS = 90 * 86_400_000;

/** The GDELT Project's article search, which reports even errors with status 200. */
export function serveGdelt({ topics, everyMs }: NewsWorld): Serve {
  const mayAsk = allowance(1, EVERY_MS);
  return ({ url }, now) => {
    const query = url.searchParams;
    if (url.pathname !== "/api/v2/doc/doc") return { status: 404, body: "Not Found" };
    if (!mayAsk(now)) return said("Please limit requests to one every 5 seconds.");
    const phrases = [...(query.get("query") ?? "").matchAll(/"([^"]+)"/g)].map(
      ([, one = ""]) => one,
    );
    if (phrases.length === 0) return said("Your query was too short or too long.");
    const max = Number(query.get("maxrecords") ?? 75);
    const from = Math.max(instantOf(query.get("startdatetime")), now - KEPT_MS);
    const until = Math.min(instantOf(query.get("enddatetime")) + 1_000, now - ROUND_MS);
    const names = new Set(phrases.flatMap((phrase) => topics.get(phrase.toLowerCase()) ?? []));
    const articles = [...names]
      .flatMap((name) => articlesOn(name, { from, until, everyMs }))
      .sort((one, other) => (one.seendate < other.seendate ? -1 : 1))
      .slice(0, max);
    return json(articles.length === 0 ? {} : { articles });
  };
}

function articlesOn(name: string, span: Parameters<typeof chatter>[1]) {
  return chatter(name, { ...span, from: span.from - ROUND_MS }).flatMap(({ at, text }) => {
    const seen = Math.ceil(at / ROUND_MS) * ROUND_MS;
    if (seen < span.from || seen >= span.until) return [];
    return {
      url: `https://news.example/${encodeURIComponent(text)}`,
      url_mobile: "",
      title: text.replaceAll(",", " ,"),
      seendate: `${stamp(seen).slice(0, 8)}T${stamp(seen).slice(8)}Z`,
      domain: "news.example",
      language: "English",
      sourcecountry: "United States",
    };
  });
}

const stamp = (at: number): string => new Date(at).toISOString().replace(/\D/g, "").slice(0, 14);

/** Parses a timestamp such as `20261120150000`. @returns Unix milliseconds. */
function instantOf(text: string | null): number {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text ?? "")?.slice(1) ?? [];
  const [year = 0, month = 1, ...rest] = parts.map(Number);
  return Date.UTC(year, month - 1, ...rest);
}

const said = (body: string): ServedAnswer => ({
  status: 200,
  headers: { "content-type": "text/html" },
  body,
});

const json = (body: unknown): ServedAnswer => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});
