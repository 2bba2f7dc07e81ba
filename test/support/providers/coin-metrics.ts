import { DAY_MS } from "../../../src/lib/day.ts";
import { allowance } from "./allowance.ts";
import { coinClose, isoDay, utcDays } from "./coins.ts";
import { drawnNumber } from "./drawn.ts";
import type { Serve, ServedAnswer } from "./drive.ts";

type Metric = "CapMVRVCur" | "CapMrktCurUSD";

/** Data of the simulated Coin Metrics. */
export interface CoinMetricsWorld {
  /** Metrics on the free plan, by asset such as `btc`. */
  readonly assets: Readonly<Record<string, readonly Metric[]>>;
  /** First day with data, ISO date. */
  readonly since: string;
  /** Instants at which a late realized value was published, by day, Unix milliseconds. */
  readonly late?: Readonly<Record<string, number>>;
}

const METRICS: readonly string[] = ["CapMVRVCur", "CapMrktCurUSD"] satisfies readonly Metric[];

/** Time from the end of a day to the publication of its metrics, in milliseconds. */
const DELAY_MS = 5.5 * 3_600_000;

/**
 * Daily metrics of Coin Metrics' community plan. The newest page comes first unless
 * `paging_from=start`.
 */
export function serveCoinMetrics(world: CoinMetricsWorld): Serve {
  const mayAsk = allowance(10, 6_000);
  return ({ url }, now) => {
    if (!mayAsk(now)) return limited();
    if (url.pathname !== "/v4/timeseries/asset-metrics") {
      return refusal(404, "not_found", "Not found.");
    }
    const { searchParams: query } = url;
    const asset = query.get("assets") ?? "";
    const covered = world.assets[asset];
    if (!covered) {
      return refusal(400, "bad_parameter", `Bad parameter 'assets'. Value '${asset}' is unknown.`);
    }
    const asked = (query.get("metrics") ?? "").split(",");
    const metrics = covered.filter((metric) => asked.includes(metric));
    return wrongMetric(asked, metrics, query) ?? page(asset, { world, metrics, query, now });
  };
}

function wrongMetric(
  asked: readonly string[],
  covered: readonly Metric[],
  query: URLSearchParams,
): ServedAnswer | undefined {
  const isIgnored = (kind: string) => query.get(`ignore_${kind}_errors`) === "true";
  const paid = asked.find((metric) => !METRICS.includes(metric));
  if (paid !== undefined && !isIgnored("forbidden")) {
    return refusal(403, "forbidden", `Metric '${paid}' is not available with these credentials.`);
  }
  const missing = asked.find((metric) => !covered.includes(metric as Metric));
  if (missing === undefined || isIgnored("unsupported")) return undefined;
  return refusal(400, "bad_parameter", `Bad parameter 'metrics'. '${missing}' is not supported.`);
}

interface Asked {
  readonly world: CoinMetricsWorld;
  readonly metrics: readonly Metric[];
  readonly query: URLSearchParams;
  readonly now: number;
}

function page(asset: string, { world, metrics, query, now }: Asked): ServedAnswer {
  const published = isoDay(now - DAY_MS - DELAY_MS);
  const [from, to] = [query.get("start_time") ?? "", query.get("end_time") ?? "9999"];
  const days = utcDays(from > world.since ? from : world.since, to < published ? to : published);
  const rest = days.filter((day) => day > (query.get("next_page_token") ?? ""));
  const size = Math.min(10_000, Number(query.get("page_size") ?? 100));
  const isFromStart = query.get("paging_from") === "start";
  const shown = isFromStart ? rest.slice(0, size) : rest.slice(-size);
  const data = shown.map((day) => ({
    asset,
    time: `${day}T00:00:00.000000000Z`,
    ...Object.fromEntries(
      metrics.map((metric) => [metric, figure(metric, { asset, day, world, now })]),
    ),
  }));
  if (shown.length === rest.length) return json(200, { data });
  const token = shown.at(-1) as string;
  return json(200, {
    data,
    next_page_token: token,
    next_page_url: `https://example.org/?next_page_token=${token}`,
  });
}

function figure(
  metric: Metric,
  { asset, day, world, now }: { asset: string; day: string; world: CoinMetricsWorld; now: number },
): string | null {
  if (metric === "CapMrktCurUSD") return coinCap(asset, day);
  return now < (world.late?.[day] ?? 0) ? null : coinMvrv(asset, day);
}

/** Market capitalization of a coin on a day in USD, as Coin Metrics formats it. */
export const coinCap = (asset: string, day: string): string =>
  (19_000_000 * coinClose(asset, day)).toFixed(9);

/** Ratio of market value to realized value (MVRV), as Coin Metrics formats it. */
export const coinMvrv = (asset: string, day: string): string =>
  (0.8 + 2 * drawnNumber("mvrv", asset, day)).toFixed(12);

const limited = (): ServedAnswer => ({
  ...refusal(429, "too_many_requests", "Rate limit exceeded."),
  headers: {
    "x-ratelimit-limit": "10, 10;w=6",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": "6",
  },
});

const refusal = (status: number, type: string, message: string): ServedAnswer =>
  json(status, { error: { type, message } });

const json = (status: number, body: unknown): ServedAnswer => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});
