import { DAY_MS } from "../../../src/lib/day.ts";
import { allowance } from "./allowance.ts";
import { coinDay, halfDay, isoDay, utcDays } from "./coins.ts";
import type { Serve, ServedAnswer } from "./drive.ts";

/** Data of the simulated Coinbase. */
export interface CoinbaseWorld {
  /** Products in Coinbase's spelling, such as `BTC-USD`. */
  readonly products: readonly string[];
  /** First day with trades, ISO date. */
  readonly since: string;
  /** Days without a trade, and so without a candle, by product. */
  readonly silent?: Readonly<Record<string, readonly string[]>>;
}

const GRANULARITIES = ["60", "300", "900", "3600", "21600", "86400"];
const MAX_CANDLES = 300;

/** Daily candles of Coinbase Exchange. */
export function serveCoinbase(world: CoinbaseWorld): Serve {
  const mayAsk = allowance(10, 1_000);
  return ({ url }, now) => {
    if (!mayAsk(now)) return refusal(429, "Public rate limit exceeded");
    const product = /^\/products\/([^/]+)\/candles$/.exec(url.pathname)?.[1] ?? "";
    if (!world.products.includes(product)) return refusal(404, "NotFound");
    if (!GRANULARITIES.includes(url.searchParams.get("granularity") ?? "60")) {
      return refusal(400, "Unsupported granularity");
    }
    return candles(product, { world, query: url.searchParams, now });
  };
}

function candles(
  product: string,
  { world, query, now }: { world: CoinbaseWorld; query: URLSearchParams; now: number },
): ServedAnswer {
  const [start, end] = [query.get("start"), query.get("end")].map((text) => Date.parse(text ?? ""));
  if (!start || !end) return refusal(400, "start and end are needed here");
  if ((end - start) / DAY_MS + 1 > MAX_CANDLES) {
    return refusal(
      400,
      "granularity too small for the requested time range. Count of aggregations requested exceeds 300",
    );
  }
  const today = isoDay(now);
  const silent = world.silent?.[product] ?? [];
  const days = utcDays(isoDay(start + DAY_MS - 1), isoDay(Math.min(end, now))).filter(
    (day) => day >= world.since && !silent.includes(day),
  );
  const rows = days.map((day) => {
    const { low, high, open, close, volume } = (day === today ? halfDay : coinDay)(product, day);
    return [Date.parse(day) / 1_000, low, high, open, close, volume];
  });
  return json(200, rows.reverse());
}

const refusal = (status: number, message: string): ServedAnswer => json(status, { message });

const json = (status: number, body: unknown): ServedAnswer => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8" },
  body: JSON.stringify(body),
});
