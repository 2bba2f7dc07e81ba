import { z } from "zod";
import { utcDay } from "../../../lib/day.ts";
import { DayCursor, type DayQuery, dayCursorText, readCursor } from "../cursor.ts";
import { ProviderFault } from "../fault.ts";
import type {
  Observation,
  ParsedResponse,
  PolledProvider,
  ProviderSeries,
  RejectedObservation,
} from "../provider.ts";
import { type ProviderResponse, parseJsonBody, quoted } from "../provider-response.ts";
import { coinTicker } from "../provider-symbols.ts";
import { addDays, lastDayKnown, onChainKnownAt } from "../publication-times.ts";

/**
 * Query parameters of every request: market value over realized value, and market value (NVT is for
 * paying customers only); oldest days first, because newest first would skip earlier days; and no
 * error for a coin that has only one of the figures.
 */
const FIXED =
  "metrics=CapMVRVCur,CapMrktCurUSD&frequency=1d&paging_from=start&page_size=1000&ignore_unsupported_errors=true&ignore_forbidden_errors=true";

/** Pause before an incomplete day is requested again, in milliseconds. */
const AGAIN_MS = 30 * 60_000;

/** Maximum wait for a complete day, in milliseconds: some coins have only one figure. */
const PATIENCE_MS = 48 * 3_600_000;

/** Pause before a coin that the plan does not cover is requested again, in milliseconds. */
const NOT_COVERED_MS = 86_400_000;

/** A decimal number as text: `null` if it is missing, NaN if it is malformed. */
const Figure = z
  .string()
  .nullish()
  .transform((text) => (text ? Number(text) : null));

const DayRow = z.looseObject({
  time: z.iso.datetime(),
  CapMVRVCur: Figure,
  CapMrktCurUSD: Figure,
});
type DayRow = z.infer<typeof DayRow>;

const Page = z.looseObject({ data: z.array(DayRow), next_page_token: z.string().nullish() });

const Refusal = z.looseObject({ error: z.looseObject({ type: z.string(), message: z.string() }) });

/** Error message, with status 400 or 403, for a coin without data. */
const NOT_COVERED = /^forbidden |^bad_parameter Bad parameter '(?:assets|metrics)'/;

/** Network figures of coins, from the free part of Coin Metrics. */
export const coinMetrics: PolledProvider = {
  id: "coin-metrics",
  name: "Coin Metrics Community Data",
  terms: "Coin Metrics, Creative Commons BY-NC 4.0: name it, not for commercial use.",
  isForOwnUse: false,
  origin: "https://community-api.coinmetrics.io",
  feeds: ["onChain"],
  classes: ["crypto"],
  needs: [],
  kind: "polled",
  budget: { requests: 10, perMs: 6_000 },
  series: ({ instruments, historyFrom }) =>
    instruments.map(({ symbol }) => figures(symbol, utcDay(historyFrom))),
};

function figures(symbol: string, first: string): ProviderSeries {
  const asset = coinTicker(symbol).toLowerCase();
  return {
    key: symbol,
    next(cursor, now) {
      const from = readCursor(cursor, DayCursor)?.day ?? first;
      const through = lastDayKnown(now, onChainKnownAt);
      if (from > through) return { waitUntil: onChainKnownAt(from) };
      const query = `assets=${asset}&start_time=${from}&end_time=${through}&${FIXED}`;
      return {
        request: { path: `/v4/timeseries/asset-metrics?${query}`, accepts: [400, 403] },
        read: (answer) => read(answer, { symbol, from, through }),
      };
    },
  };
}

/**
 * Accepts the days before the first one that may still become complete, because an accepted record
 * is never replaced. The next request begins after the last accepted day, so no page token has to
 * outlive a restart.
 */
function read(answer: ProviderResponse, query: DayQuery): ParsedResponse {
  const { symbol, from, through } = query;
  const { status, receivedAt } = answer;
  if (status !== 200) return readRefusal(answer, query);
  const { data, next_page_token: more } = parseJsonBody(answer, Page);
  const days = new Map(data.map((row) => [row.time.slice(0, 10), row]));
  const newest = [...days.keys()].reduce((one, other) => (one > other ? one : other), "");
  if (more && newest < from) throw new ProviderFault("malformed", "more pages, but no days");

  const last = more && newest < through ? newest : through;
  const open = firstOpen(days, { from, last, receivedAt });
  const end = open ?? addDays(last, 1);
  const given = [...days]
    .filter(([day]) => day >= from && day < end)
    .flatMap(([day, row]) => datumOf(row, { day, symbol }));
  return {
    data: given.filter((one) => "record" in one),
    rejected: given.filter((one) => "reason" in one),
    cursor: dayCursorText(end),
    ...(open && { notBefore: receivedAt + AGAIN_MS }),
  };
}

function readRefusal(answer: ProviderResponse, { symbol, from }: DayQuery): ParsedResponse {
  const { type, message } = parseJsonBody(answer, Refusal).error;
  if (!NOT_COVERED.test(`${type} ${message}`)) {
    throw new ProviderFault("malformed", `it says ${quoted(message)}`);
  }
  const notBefore = answer.receivedAt + NOT_COVERED_MS;
  return { data: [], cursor: dayCursorText(from), notBefore, unknown: [symbol] };
}

/** The first recent day that lacks a figure which may still be published. */
function firstOpen(
  days: ReadonlyMap<string, DayRow>,
  page: { readonly from: string; readonly last: string; readonly receivedAt: number },
): string | undefined {
  let open: string | undefined;
  for (let day = page.last; day >= page.from; day = addDays(day, -1)) {
    if (onChainKnownAt(day) + PATIENCE_MS <= page.receivedAt) break;
    const { CapMVRVCur = null, CapMrktCurUSD = null } = days.get(day) ?? {};
    if (CapMVRVCur === null || CapMrktCurUSD === null) open = day;
  }
  return open;
}

/** The observation of a day; none if neither figure is published. */
function datumOf(
  { CapMVRVCur: mvrv, CapMrktCurUSD: marketCapUsd }: DayRow,
  { day, symbol }: { readonly day: string; readonly symbol: string },
): readonly (Observation | RejectedObservation)[] {
  const figures = [mvrv, marketCapUsd].filter((figure) => figure !== null);
  if (figures.length === 0) return [];
  const place = { feed: "onChain", symbol, at: Date.parse(day), id: day } as const;
  const wrong = figures.find((figure) => !(figure > 0 && figure < Number.POSITIVE_INFINITY));
  if (wrong !== undefined) return [{ ...place, reason: `${wrong} is no figure above 0` }];
  const record = { session: day, availableAt: onChainKnownAt(day), mvrv, nvt: null, marketCapUsd };
  return [{ ...place, record }];
}
