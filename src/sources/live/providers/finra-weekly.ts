import { z } from "zod";
import { newYorkDate, newYorkInstant } from "../../../market/new-york.ts";
import { readCursor } from "../cursor.ts";
import type {
  Observation,
  ParsedResponse,
  PolledProvider,
  ProviderSeries,
  RejectedObservation,
} from "../provider.ts";
import { type ProviderResponse, parseJsonBody, quoted } from "../provider-response.ts";
import { dottedSymbol } from "../provider-symbols.ts";
import { addDays, datedRecordKnownAt } from "../publication-times.ts";

/**
 * Summary types of weekly volume: alternative trading systems, and all other off-exchange trading.
 */
const KINDS = { ats: "ATS_W_SMBL", otc: "OTC_W_SMBL" } as const;

/** Names of the requested fields. */
const FIELDS = [
  "issueSymbolIdentifier",
  "weekStartDate",
  "initialPublishedDate",
  "summaryTypeCode",
  "totalWeeklyShareQuantity",
] as const;

/** Maximum number of rows in a response; a year has about 100. */
const LIMIT = 5_000;

/** Number of days of history that FINRA offers. */
const OFFERED_DAYS = 371;

/**
 * Number of days before the newest week that are requested again, since a week may be published
 * late.
 */
const AGAIN_DAYS = 42;

/** Maximum number of days from the Monday of a week to its publication; 21 for large companies. */
const PUBLISHED_AFTER_DAYS = 35;

/** New York time of the nightly request, which reads the publications of the previous day. */
const LOOK_AT = "01:00";

const WeekRow = z.looseObject({
  issueSymbolIdentifier: z.string(),
  weekStartDate: z.iso.date(),
  initialPublishedDate: z.iso.date().nullish(),
  summaryTypeCode: z.string(),
  totalWeeklyShareQuantity: z.number(),
});
type WeekRow = z.infer<typeof WeekRow>;

const WeekCursor = z.object({
  /** Monday of the newest published week. */
  newest: z.iso.date().optional(),
});
type WeekCursor = z.infer<typeof WeekCursor>;

/** FINRA's weekly off-exchange volumes, one series per security. */
export const finraWeekly: PolledProvider = {
  id: "finra-weekly",
  name: "FINRA OTC transparency",
  terms: "FINRA Data terms: for your own use, not to be passed on without FINRA's consent.",
  isForOwnUse: true,
  origin: "https://api.finra.org",
  feeds: ["weeklyVolumes"],
  classes: ["stock", "etf"],
  needs: [],
  kind: "polled",
  budget: { requests: 5, perMs: 1_000 },
  series: ({ instruments, historyFrom }) =>
    instruments.map(({ symbol }) => weeks(symbol, newYorkDate(historyFrom))),
};

function weeks(symbol: string, wantedFrom: string): ProviderSeries {
  return {
    key: symbol,
    next(cursor, now) {
      const { newest } = readCursor(cursor, WeekCursor) ?? {};
      const today = newYorkDate(now);
      const offeredFrom = addDays(today, -OFFERED_DAYS);
      const first = newest === undefined ? wantedFrom : addDays(newest, -AGAIN_DAYS);
      const from = first > offeredFrom ? first : offeredFrom;
      return {
        request: {
          path: "/data/group/otcMarket/name/weeklySummary",
          headers: { accept: "application/json" },
          post: { type: "application/json", body: question(symbol, from, today) },
          accepts: [204],
        },
        read: (answer) => read(answer, symbol, { newest }),
      };
    },
  };
}

const question = (symbol: string, from: string, to: string): string =>
  JSON.stringify({
    fields: FIELDS,
    limit: LIMIT,
    compareFilters: [
      {
        fieldName: "issueSymbolIdentifier",
        fieldValue: dottedSymbol(symbol),
        compareType: "EQUAL",
      },
    ],
    domainFilters: [{ fieldName: "summaryTypeCode", values: Object.values(KINDS) }],
    dateRangeFilters: [{ fieldName: "weekStartDate", startDate: from, endDate: to }],
  });

function read(answer: ProviderResponse, symbol: string, { newest }: WeekCursor): ParsedResponse {
  const today = newYorkDate(answer.receivedAt);
  const notBefore = newYorkInstant(addDays(today, 1), LOOK_AT);
  // Status 204 means that there are no rows.
  const rows = answer.status === 204 ? [] : parseJsonBody(answer, z.array(WeekRow));
  const own = rows.filter((row) => row.issueSymbolIdentifier === dottedSymbol(symbol));
  const data: Observation[] = [];
  const rejected: RejectedObservation[] = [];
  const published = newest === undefined ? [] : [newest];
  for (const [weekStart, ofWeek] of Map.groupBy(own, (row) => row.weekStartDate)) {
    const place = { feed: "weeklyVolumes", symbol, at: Date.parse(weekStart), id: "week" } as const;
    const reason = ofWeek.map((row) => faultOf(row, today)).find((fault) => fault !== undefined);
    if (reason !== undefined) {
      rejected.push({ ...place, reason });
      continue;
    }
    const record = recordOf(weekStart, ofWeek);
    if (record === undefined) continue;
    data.push({ ...place, record });
    published.push(weekStart);
  }
  const position: WeekCursor = { newest: published.sort().at(-1) };
  return { data, rejected, cursor: JSON.stringify(position), notBefore };
}

/**
 * The record of a week; `undefined` if one of the two summary types is missing, because nothing was
 * traded or because that type is published later.
 */
function recordOf(weekStart: string, rows: readonly WeekRow[]) {
  const [ats, otc] = Object.values(KINDS).map((kind) =>
    rows.find((row) => row.summaryTypeCode === kind),
  );
  if (ats === undefined || otc === undefined) return undefined;
  const availableAt = Math.max(...[ats, otc].map((row) => datedRecordKnownAt(publishedOn(row))));
  return {
    weekStart,
    availableAt,
    atsShares: ats.totalWeeklyShareQuantity,
    otcShares: otc.totalWeeklyShareQuantity,
  };
}

const publishedOn = ({ initialPublishedDate, weekStartDate }: WeekRow): string =>
  initialPublishedDate ?? addDays(weekStartDate, PUBLISHED_AFTER_DAYS);

/** Why a row is implausible; `undefined` if it is not. */
function faultOf(row: WeekRow, today: string): string | undefined {
  const { totalWeeklyShareQuantity: shares, weekStartDate, initialPublishedDate } = row;
  if (shares < 0) return `${shares} shares cannot be`;
  const latest = initialPublishedDate ?? weekStartDate;
  if (latest > today) return `${quoted(latest)} has not come yet`;
  const published = publishedOn(row);
  if (published >= addDays(weekStartDate, 7)) return undefined;
  return `${quoted(published)} is before the end of the week that it tells of`;
}
