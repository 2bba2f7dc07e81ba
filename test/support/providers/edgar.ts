import { createHash } from "node:crypto";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import { addDays } from "../../../src/sources/live/publication-times.ts";
import { allowance } from "./allowance.ts";
import { drawnNumber } from "./drawn.ts";
import type { Serve, ServedAnswer } from "./drive.ts";

/** A company with calendar quarters. */
export interface FilingCompany {
  /** Ticker in the SEC's spelling, such as `BRK-B`. */
  readonly ticker: string;
  readonly cik: number;
  /** First year with reports. */
  readonly since: number;
  /** Ends of quarters (ISO dates) whose income was amended two weeks after the filing. */
  readonly amended?: readonly string[];
}

/** The SEC's rate limit. */
const LIMIT = { requests: 10, perMs: 1_000 } as const;

/** Last and first days of the quarters, as MM-DD. */
const ENDS = ["03-31", "06-30", "09-30", "12-31"] as const;
const STARTS = ["01-01", "04-01", "07-01", "10-01"] as const;

/**
 * Days from the end of a quarter to its report, from the end of a year to its report, and from a
 * report to its amendment.
 */
const LAG_DAYS = { quarter: 30, year: 45, amendment: 14 } as const;

/** Time of day when a report is accepted, New York time. */
const ACCEPTED_AT = "16:31";

/** The SEC's two sites: the list of tickers, and all facts of a company. */
export function serveEdgar(companies: readonly FilingCompany[]): Serve {
  const allow = allowance(LIMIT.requests, LIMIT.perMs);
  return ({ url, headers }, now) => {
    if (!/\S@\S/.test(headers.get("user-agent") ?? "")) return page("Undeclared Automated Tool");
    if (!allow(now)) return page("Request Rate Threshold Exceeded");
    const answer = answerOf(url.pathname, companies, now);
    const isKnown = answer.status === 200 && answer.headers?.etag === headers.get("if-none-match");
    return isKnown ? { status: 304, body: "" } : answer;
  };
}

function answerOf(path: string, companies: readonly FilingCompany[], now: number): ServedAnswer {
  if (path === "/files/company_tickers.json") return json(tickers(companies));
  const cik = Number(/^\/api\/xbrl\/companyfacts\/CIK(\d{10})\.json$/.exec(path)?.[1]);
  const company = companies.find((one) => one.cik === cik);
  return (company && factsAnswer(company, now)) ?? NOT_FOUND;
}

/** The company facts that are known at `now`; `undefined` before the first report. */
function factsAnswer(company: FilingCompany, now: number): ServedAnswer | undefined {
  const reports = reportsOf(company, now);
  return reports.length === 0 ? undefined : json(companyFacts(company, reports));
}

const page = (words: string): ServedAnswer => ({
  status: 403,
  headers: { "content-type": "text/html" },
  body: `<!DOCTYPE html><html><body><h1>${words}</h1></body></html>`,
});

const NOT_FOUND: ServedAnswer = {
  status: 404,
  headers: { "content-type": "application/xml" },
  body: "<Error><Code>NoSuchKey</Code></Error>",
};

function json(value: unknown): ServedAnswer {
  const body = JSON.stringify(value);
  const etag = `"${createHash("sha256").update(body).digest("hex").slice(0, 32)}"`;
  return { status: 200, headers: { "content-type": "application/json", etag }, body };
}

const tickers = (companies: readonly FilingCompany[]) =>
  Object.fromEntries(
    companies.map(({ ticker, cik }, index) => [index, { cik_str: cik, ticker, title: ticker }]),
  );

/** A report, and the quarter that it covers. */
interface Report {
  readonly form: "10-Q" | "10-Q/A" | "10-K";
  readonly accn: string;
  readonly filed: string;
  readonly year: number;
  /** Index of the quarter, 0 to 3. */
  readonly quarter: number;
}

/** Reports that were accepted before an instant (Unix milliseconds). */
function reportsOf({ cik, since, amended = [] }: FilingCompany, now: number): readonly Report[] {
  const years = Array.from({ length: 40 }, (_, index) => since + index);
  const all = years.flatMap((year) =>
    ENDS.flatMap((day, quarter): Omit<Report, "accn">[] => {
      const end = `${year}-${day}`;
      const isYear = quarter === 3;
      const filed = addDays(end, isYear ? LAG_DAYS.year : LAG_DAYS.quarter);
      const form = isYear ? "10-K" : "10-Q";
      const again = { form: "10-Q/A", filed: addDays(filed, LAG_DAYS.amendment) } as const;
      const report = { form, filed, year, quarter } as const;
      return amended.includes(end) ? [report, { ...report, ...again }] : [report];
    }),
  );
  const prefix = String(cik).padStart(10, "0");
  return all
    .filter(({ filed }) => newYorkInstant(filed, ACCEPTED_AT) <= now)
    .map((one, index) => ({
      ...one,
      accn: `${prefix}-${one.filed.slice(2, 4)}-${String(index).padStart(6, "0")}`,
    }));
}

/** A flow of one quarter in USD, as first filed. */
export const quarterFlow = (ticker: string, tag: string, end: string): number =>
  Math.round(1e9 * (0.2 + drawnNumber(ticker, tag, end)));

/** Income after an amendment: a tenth lower. */
export const amendedIncome = (income: number): number => Math.round(income * 0.9);

/** A balance-sheet amount in USD or a number of shares, at the end of a day. */
export const balanceSheetValue = (ticker: string, tag: string, end: string): number =>
  Math.round(1e10 * (0.5 + drawnNumber(ticker, tag, end)));

/** Flows that are reported for the quarter and for the year to date. */
const BY_QUARTER = ["NetIncomeLoss", "OperatingIncomeLoss"];
/** Flows that are reported only for the year to date, such as cash flows. */
const BY_YEAR_SO_FAR = [
  "NetCashProvidedByUsedInOperatingActivities",
  "PaymentsToAcquirePropertyPlantAndEquipment",
  "DepreciationDepletionAndAmortization",
];
const INSTANTS = [
  "StockholdersEquity",
  "Assets",
  "CashAndCashEquivalentsAtCarryingValue",
  "LongTermDebtNoncurrent",
  "LongTermDebtCurrent",
];

function companyFacts({ ticker, cik }: FilingCompany, reports: readonly Report[]) {
  const concept = (unit: string, rows: readonly object[]) => ({
    label: null,
    units: { [unit]: rows },
  });
  const flows = [...BY_QUARTER, ...BY_YEAR_SO_FAR].map((tag) => {
    const rows = reports.flatMap((report) => flowRows(ticker, tag, report));
    return [tag, concept("USD", rows)] as const;
  });
  const instants = INSTANTS.map((tag) => {
    const rows = reports.flatMap((report) =>
      [`${report.year}-${ENDS[report.quarter]}`, `${report.year - 1}-12-31`].map((end) =>
        row(report, { end, val: balanceSheetValue(ticker, tag, end) }),
      ),
    );
    return [tag, concept("USD", rows)] as const;
  });
  const cover = reports.map((report) => {
    const end = addDays(report.filed, -10);
    return row(report, { end, val: balanceSheetValue(ticker, "shares", end) });
  });
  const dei = { EntityCommonStockSharesOutstanding: concept("shares", cover) };
  const gaap = { ...Object.fromEntries([...flows, ...instants]), Unread: concept("pure", []) };
  return { cik, entityName: ticker, facts: { dei, "us-gaap": gaap } };
}

/** Rows for this year and, as comparison, for the previous year. */
function flowRows(ticker: string, tag: string, report: Report): readonly object[] {
  return [report.year, report.year - 1].flatMap((year) => {
    const isAmended = report.form === "10-Q/A" && tag === "NetIncomeLoss" && year === report.year;
    const values = ENDS.slice(0, report.quarter + 1).map((day, quarter) => {
      const flow = quarterFlow(ticker, tag, `${year}-${day}`);
      return isAmended && quarter === report.quarter ? amendedIncome(flow) : flow;
    });
    const end = `${year}-${ENDS[report.quarter]}`;
    const val = values.reduce((sum, value) => sum + value, 0);
    const soFar = row(report, { start: `${year}-01-01`, end, val });
    const isAlone = report.quarter === 0 || report.quarter === 3 || BY_YEAR_SO_FAR.includes(tag);
    if (isAlone) return [soFar];
    const start = `${year}-${STARTS[report.quarter]}`;
    return [row(report, { start, end, val: values.at(-1) as number }), soFar];
  });
}

const row = ({ form, accn, filed, year }: Report, told: object) => ({
  ...told,
  accn,
  fy: year,
  fp: "Q",
  form,
  filed,
});
