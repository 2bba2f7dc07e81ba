import { z } from "zod";
import { newYorkDate } from "../../../src/market/new-york.ts";
import { addDays } from "../../../src/sources/live/publication-times.ts";
import { allowance } from "./allowance.ts";
import { drawnNumber } from "./drawn.ts";
import type { Serve, ServedAnswer } from "./drive.ts";

/** Symbols in FINRA's spelling (`BRK.B`), with the delay of their publication in weeks. */
export type WeeklyVolumeWorld = ReadonlyMap<string, 2 | 4>;

/** The supported part of FINRA's query language. */
const Question = z.strictObject({
  fields: z.array(z.string()),
  limit: z.int().max(5_000),
  compareFilters: z.tuple([
    z.strictObject({
      fieldName: z.literal("issueSymbolIdentifier"),
      fieldValue: z.string(),
      compareType: z.literal("EQUAL"),
    }),
  ]),
  domainFilters: z.tuple([
    z.strictObject({ fieldName: z.literal("summaryTypeCode"), values: z.array(z.string()) }),
  ]),
  dateRangeFilters: z.tuple([
    z.strictObject({
      fieldName: z.literal("weekStartDate"),
      startDate: z.iso.date(),
      endDate: z.iso.date(),
    }),
  ]),
});

/** The Monday from which weeks are counted. */
const MONDAY = "2020-01-06";

/** Age of the oldest available data, in days. */
const OFFERED_DAYS = 365;

/** FINRA's Query API with the weekly summary of off-exchange volume. */
export function serveFinraWeekly(world: WeeklyVolumeWorld): Serve {
  const allow = allowance(1_200, 60_000);
  return ({ method, url, headers, body }, now) => {
    if (!allow(now)) return refusal(429, "Too Many Requests");
    const dataset = "/data/group/otcMarket/name/weeklySummary";
    if (method !== "POST" || url.pathname !== dataset) return refusal(404, "Dataset not found");
    const question = Question.safeParse(JSON.parse(body));
    if (!question.success) return refusal(400, "Invalid request");
    const rows = rowsOf(question.data, world, newYorkDate(now));
    return rows.length === 0 ? { status: 204, body: "" } : answer(rows, headers.get("accept"));
  };
}

const refusal = (status: number, message: string): ServedAnswer => ({
  status,
  body: JSON.stringify({ message }),
});

/** Formats rows as JSON if requested, otherwise as comma-separated values. */
const answer = (rows: readonly object[], accept: string | null): ServedAnswer => ({
  status: 200,
  body: accept === "application/json" ? JSON.stringify(rows) : "issueSymbolIdentifier,…",
});

function rowsOf(question: z.infer<typeof Question>, world: WeeklyVolumeWorld, today: string) {
  const [{ fieldValue: symbol }] = question.compareFilters;
  const [{ values: kinds }] = question.domainFilters;
  const [{ startDate, endDate }] = question.dateRangeFilters;
  const delay = world.get(symbol);
  if (delay === undefined) return [];
  const mondays = Array.from({ length: 1_000 }, (_, week) => addDays(MONDAY, 7 * week));
  const rows = mondays.map((weekStartDate) => ({
    weekStartDate,
    initialPublishedDate: addDays(weekStartDate, 7 * (delay + 1)),
  }));
  return rows
    .filter(({ weekStartDate: week, initialPublishedDate: published }) => {
      const isWanted = week >= startDate && week <= endDate;
      return isWanted && published <= today && week >= addDays(today, -OFFERED_DAYS);
    })
    .flatMap((row) => kinds.map((kind) => ({ ...row, summaryTypeCode: kind })))
    .map((row) => ({
      issueSymbolIdentifier: symbol,
      ...row,
      totalWeeklyShareQuantity: weeklyShares(symbol, row.summaryTypeCode, row.weekStartDate),
    }))
    .map((row) =>
      Object.fromEntries(question.fields.map((field) => [field, (row as never)[field]])),
    );
}

/** Shares traded at a kind of venue in the week that begins on a Monday. */
export const weeklyShares = (symbol: string, kind: string, monday: string): number =>
  Math.round(1e8 * drawnNumber(symbol, kind, monday)) / 4;
