import { DAY_MS } from "../../../src/lib/day.ts";
import { allowance } from "./allowance.ts";
import { type CoinDay, coinDay, halfDay, isoDay, utcDays } from "./coins.ts";
import type { Serve, ServedAnswer } from "./drive.ts";

/** Data of the simulated Kraken. */
export interface KrakenWorld {
  /** Pairs in Kraken's spelling, such as `XBTUSD`. */
  readonly pairs: readonly string[];
}

/** Maximum number of days besides the current day. */
const MAX_DAYS = 720;

/** Names of the result rows, by requested pair, where the two names differ. */
const LONG_NAMES: Readonly<Record<string, string>> = { XBTUSD: "XXBTZUSD", ETHUSD: "XETHZUSD" };

/** Kraken's daily bars. Errors have status 200 too. */
export function serveKraken({ pairs }: KrakenWorld): Serve {
  const mayAsk = allowance(1, 1_000);
  return ({ url: { pathname, searchParams: query } }, now) => {
    if (!mayAsk(now)) return refusal("EGeneral:Too many requests");
    if (pathname !== "/0/public/OHLC") return refusal("EGeneral:Unknown method");
    const pair = query.get("pair") ?? "";
    if (!pairs.includes(pair)) return refusal("EQuery:Unknown asset pair");
    if (query.get("interval") !== "1440") return refusal("EGeneral:Invalid arguments");
    const since = Number(query.get("since")) * 1_000;
    const last = Date.parse(isoDay(now - DAY_MS)) / 1_000;
    return json({ error: [], result: { [longName(pair)]: rows(pair, since, now), last } });
  };
}

const longName = (pair: string) => LONG_NAMES[pair] ?? pair;

const refusal = (error: string): ServedAnswer => json({ error: [error] });

function rows(pair: string, since: number, now: number) {
  const today = isoDay(now);
  const ended = utcDays(isoDay(now - MAX_DAYS * DAY_MS), isoDay(now - DAY_MS))
    .filter((day) => Date.parse(day) > since)
    .map((day) => row(day, coinDay(pair, day)));
  return [...ended, row(today, halfDay(pair, today))];
}

const row = (day: string, { open, high, low, close, volume }: CoinDay) => [
  Date.parse(day) / 1_000,
  ...[open, high, low, close, krakenMean({ high, low })].map((price) => price.toFixed(2)),
  volume.toFixed(8),
  1 + Math.round(volume * 3),
];

/** Volume-weighted mean price of a day, in cents. */
export const krakenMean = ({ high, low }: Pick<CoinDay, "high" | "low">): number =>
  Math.round(50 * (high + low)) / 100;

const json = (body: unknown): ServedAnswer => ({
  status: 200,
  headers: { "content-type": "application/json; charset=utf-8" },
  body: JSON.stringify(body),
});
