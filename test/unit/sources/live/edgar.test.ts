import { describe, expect, it } from "vitest";
import { newYorkDate, newYorkInstant } from "../../../../src/market/new-york.ts";
import type { Fundamental, FundamentalMetric } from "../../../../src/market/records.ts";
import type { Observation } from "../../../../src/sources/live/provider.ts";
import { CompanyFacts, filingsOf } from "../../../../src/sources/live/providers/edgar/facts.ts";
import { reportedFiguresOf } from "../../../../src/sources/live/providers/edgar/reported-figures.ts";
import { edgar } from "../../../../src/sources/live/providers/edgar.ts";
import { instrument } from "../../../support/instruments.ts";
import {
  type DriveOptions,
  drivePolling,
  faultIn,
  type Serve,
} from "../../../support/providers/drive.ts";
import {
  amendedIncome,
  balanceSheetValue,
  quarterFlow,
  serveEdgar,
} from "../../../support/providers/edgar.ts";

const at = newYorkInstant;
const MINUTE_MS = 60_000;

const COMPANIES = [
  { ticker: "ACME", cik: 1_000_042, since: 2022 },
  { ticker: "BRK-B", cik: 7, since: 2023, amended: ["2024-06-30"] },
];
/** A server that counts its requests from zero. */
const serve = () => serveEdgar(COMPANIES);

/** Options of a run on one evening, for filings from 2024 on. */
const EVENING: DriveOptions = {
  instruments: ["ACME", "BRK-B"].map(instrument),
  feeds: new Set(["fundamentals"]),
  historyFrom: at("2025-02-05", "00:00"),
  settings: { SEC_USER_AGENT: "Ada Example ada@example.org" },
  now: at("2026-02-20", "18:00"),
  until: at("2026-02-20", "18:10"),
};

const told = (data: readonly Observation[], symbol: string, metric: FundamentalMetric) =>
  data
    .filter((datum) => datum.symbol === symbol)
    .map(({ record }) => record as Fundamental)
    .filter((record) => record.metric === metric)
    .map(({ periodEnd, value, availableAt }) => ({
      end: new Date(periodEnd).toISOString(),
      value,
      known: newYorkDate(availableAt - 1),
    }));

const END_OF_DAY = "T23:59:59.999Z";

describe("the SEC EDGAR provider", () => {
  const driven = drivePolling(edgar, serve(), EVENING);

  it("looks each ticker up once, and then reads all figures of the company", () => {
    expect(driven.requests.map(({ origin, path }) => `${origin ?? ""}${path}`)).toEqual([
      "https://www.sec.gov/files/company_tickers.json",
      "https://www.sec.gov/files/company_tickers.json",
      "/api/xbrl/companyfacts/CIK0001000042.json",
      "/api/xbrl/companyfacts/CIK0000000007.json",
    ]);
    for (const { headers } of driven.requests) {
      expect(headers?.["user-agent"]).toBe("Ada Example ada@example.org");
    }
  });

  it("derives quarterly values from flows that are filed per quarter, year to date and per year", () => {
    const flow = (tag: string, end: string) => quarterFlow("ACME", tag, end);
    const quarters = ["2025-03-31", "2025-06-30", "2025-09-30", "2025-12-31"];
    const income = told(driven.data, "ACME", "netIncome").slice(-4);
    expect(income).toEqual(
      quarters.map((end, index) => ({
        end: `${end}${END_OF_DAY}`,
        value: flow("NetIncomeLoss", end),
        known: ["2025-04-30", "2025-07-30", "2025-10-30", "2026-02-14"][index],
      })),
    );
    expect(
      told(driven.data, "ACME", "freeCashFlow")
        .slice(-4)
        .map(({ value }) => value),
    ).toEqual(
      quarters.map(
        (end) =>
          flow("NetCashProvidedByUsedInOperatingActivities", end) -
          flow("PaymentsToAcquirePropertyPlantAndEquipment", end),
      ),
    );
    expect(
      told(driven.data, "ACME", "ebitda")
        .slice(-4)
        .map(({ value }) => value),
    ).toEqual(
      quarters.map(
        (end) =>
          flow("OperatingIncomeLoss", end) + flow("DepreciationDepletionAndAmortization", end),
      ),
    );
  });

  it("reads balance sheet figures at the end of a quarter, with debt as the sum of its parts", () => {
    const newest = (metric: FundamentalMetric) => told(driven.data, "ACME", metric).at(-1);
    const at = (tag: string) => balanceSheetValue("ACME", tag, "2025-12-31");
    const common = { end: `2025-12-31${END_OF_DAY}`, known: "2026-02-14" };
    expect(newest("equity")).toEqual({ ...common, value: at("StockholdersEquity") });
    expect(newest("assets")).toEqual({ ...common, value: at("Assets") });
    expect(newest("cash")).toEqual({
      ...common,
      value: at("CashAndCashEquivalentsAtCarryingValue"),
    });
    const debt = at("LongTermDebtNoncurrent") + at("LongTermDebtCurrent");
    expect(newest("debt")).toEqual({ ...common, value: debt });
    const cover = "2026-02-04";
    const shares = balanceSheetValue("ACME", "shares", cover);
    expect(newest("shares")).toEqual({ ...common, end: `${cover}${END_OF_DAY}`, value: shares });
  });

  it("stores each figure of a filing once, and amendments as separate records", () => {
    const income = told(driven.data, "BRK-B", "netIncome");
    const second = income.filter(({ end }) => end.startsWith("2024-06-30"));
    const first = quarterFlow("BRK-B", "NetIncomeLoss", "2024-06-30");
    expect(second.map(({ value, known }) => [value, known])).toEqual([
      [first, "2024-07-30"],
      [amendedIncome(first), "2024-08-13"],
    ]);
    const others = income.filter(({ end }) => !end.startsWith("2024-06-30"));
    expect(new Set(others.map(({ end }) => end)).size).toBe(others.length);
    expect(told(driven.data, "BRK-B", "equity")).toHaveLength(others.length + 1);
  });

  it("dates a filing to the next midnight in New York", () => {
    const known = driven.data.map(({ record }) => record.availableAt);
    expect(known).toContain(at("2025-10-31", "00:00"));
    expect(known).toContain(at("2026-02-15", "00:00"));
    expect(known.every((instant) => instant === at(newYorkDate(instant), "00:00"))).toBe(true);
  });

  it("starts a year before the history, so that the first day already has four quarters", () => {
    const [first] = told(driven.data, "ACME", "netIncome");
    expect(first?.known).toBe("2024-02-14");
  });

  it("waits until the next day, and then until a minute specific to the company", () => {
    const midnight = at("2026-02-21", "00:00");
    expect(driven.waits).toEqual([
      { key: "ACME", until: midnight + (1_000_042 % 360) * MINUTE_MS },
      { key: "BRK-B", until: midnight + 7 * MINUTE_MS },
    ]);
  });

  it("polls once a day, and reads a report on the night after its filing", () => {
    const onward = drivePolling(edgar, serve(), {
      ...EVENING,
      instruments: [instrument("ACME")],
      cursors: driven.cursors,
      now: driven.now,
      until: at("2026-05-02", "12:00"),
    });
    const facts = onward.requests.filter(({ path }) => path.includes("companyfacts"));
    expect(facts).toHaveLength(71);
    expect(facts[0]?.headers).toHaveProperty("if-none-match");
    const names = onward.requests.filter(({ path }) => path.includes("tickers"));
    expect(names.map((sent) => newYorkDate(sent.at))).toEqual(["2026-03-22", "2026-04-21"]);
    const news = told(onward.data, "ACME", "netIncome").at(-1);
    expect(news?.known).toBe("2026-04-30");
    const known = at("2026-05-01", "00:00") + (1_000_042 % 360) * MINUTE_MS;
    expect(facts.at(-2)?.at).toBe(known);
  });

  it("keeps its data when the response has not changed", () => {
    const next = drivePolling(edgar, serve(), {
      ...EVENING,
      cursors: driven.cursors,
      now: at("2026-02-21", "08:00"),
      until: at("2026-02-21", "08:10"),
    });
    expect(next.requests).toHaveLength(2);
    expect(next.data).toEqual([]);
    expect(JSON.parse(next.cursors.ACME ?? "")).toEqual({
      ...JSON.parse(driven.cursors.ACME ?? ""),
      asked: "2026-02-21",
    });
  });

  it("dates reports to their filing, whenever they are read", () => {
    const early = drivePolling(edgar, serve(), {
      ...EVENING,
      now: at("2025-08-20", "18:00"),
      until: at("2025-08-20", "18:10"),
    });
    const then = driven.data.filter(
      ({ record }) => record.availableAt <= at("2025-08-20", "18:00"),
    );
    expect(early.data.length).toBeGreaterThan(40);
    expect(new Set(early.data.map((datum) => JSON.stringify(datum)))).toEqual(
      new Set(then.map((datum) => JSON.stringify(datum))),
    );
  });

  it("tries again the next day when a ticker has no company or no report yet", () => {
    const waiting: DriveOptions = { ...EVENING, instruments: [instrument("NEWCO")] };
    const unknown = drivePolling(edgar, serve(), waiting);
    expect(unknown.data).toEqual([]);
    expect(unknown.unknown).toEqual({ NEWCO: ["NEWCO"] });
    expect(unknown.waits).toEqual([{ key: "NEWCO", until: at("2026-02-21", "00:00") }]);
    const listed = serveEdgar([{ ticker: "NEWCO", cik: 99, since: 2026 }]);
    const until = at("2026-05-05", "12:00");
    const found = drivePolling(edgar, listed, { ...waiting, cursors: unknown.cursors, until });
    expect(told(found.data, "NEWCO", "netIncome").map(({ known }) => known)).toEqual([
      "2026-04-30",
    ]);
    expect(found.unknown).toEqual({ NEWCO: [] });
  });

  it("rejects a filing dated in another century, and accepts one dated on the next business day", () => {
    const USD = ["2026-02-23", "3000-02-01"].map((filed) => ({
      ...{ end: `${filed.slice(0, 4)}-01-01`, val: 7, accn: filed, form: "10-Q", filed },
    }));
    const facts = { "us-gaap": { StockholdersEquity: { units: { USD } } } };
    const body = JSON.stringify({ cik: 1_000_042, entityName: "Acme", facts });
    const listed = serve();
    const served: Serve = (request, now) =>
      request.url.pathname.includes("companyfacts") ? { status: 200, body } : listed(request, now);
    const instruments = [instrument("ACME")];
    const given = drivePolling(edgar, served, { ...EVENING, instruments });
    expect(given.data.map(({ at: end }) => new Date(end).getUTCFullYear())).toEqual([2026]);
  });

  it("drops its HTTP validators when a ticker moves to another company", () => {
    const other = serveEdgar([{ ticker: "ACME", cik: 5, since: 2022 }]);
    const onward = drivePolling(edgar, other, {
      ...EVENING,
      instruments: [instrument("ACME")],
      cursors: driven.cursors,
      now: at("2026-03-25", "12:00"),
      until: at("2026-03-25", "12:10"),
    });
    expect(onward.requests.at(-1)?.path).toContain("CIK0000000005");
    expect(onward.requests.at(-1)?.headers).not.toHaveProperty("if-none-match");
  });

  it("restarts when it cannot parse its cursor", () => {
    const again = drivePolling(edgar, serve(), {
      ...EVENING,
      cursors: { ACME: "CIK42", "BRK-B": "{}" },
    });
    expect(again.data).toHaveLength(driven.data.length);
  });

  const refusal =
    (body: string): Serve =>
    () => ({ status: 403, body });
  it.each([
    ["limited", "<h1>Request Rate Threshold Exceeded</h1>", 600_000],
    ["refused", "<h1>Undeclared Automated Tool</h1>", undefined],
  ])("reports the fault %j according to the text of a 403 response", (kind, body, retryAfterMs) => {
    const fault = faultIn(() => drivePolling(edgar, refusal(body), EVENING));
    expect({ kind: fault.kind, after: fault.retryAfterMs }).toEqual({ kind, after: retryAfterMs });
  });

  it("rejects a contact setting without a name and an email address", () => {
    const nameless = { ...EVENING, settings: { SEC_USER_AGENT: "market-signal" } };
    const fault = faultIn(() => drivePolling(edgar, serve(), nameless));
    expect(fault).toMatchObject({ kind: "refused", message: expect.stringContaining("email") });
  });

  it.each([
    ["an HTML page", "<html>Sorry</html>"],
    ["the figures of another company", '{"cik":8,"entityName":"X","facts":{}}'],
    ["no figures", '{"cik":1000042,"entityName":"X"}'],
    ["strings instead of numbers", factsText({ val: "1" })],
    ["invalid dates", factsText({ end: "soon" })],
    ["truncated JSON", factsText({}).slice(0, -9)],
  ])("reports a malformed response with status 200: %s", (_, body) => {
    const served = serve();
    const wrong: Serve = (request, now) =>
      request.url.pathname.includes("companyfacts") ? { status: 200, body } : served(request, now);
    expect(faultIn(() => drivePolling(edgar, wrong, EVENING)).kind).toBe("malformed");
  });
});

function factsText(row: object): string {
  const whole = { end: "2025-12-31", val: 1, accn: "1-1-1", form: "10-K", filed: "2026-02-01" };
  const equity = { units: { USD: [{ ...whole, ...row }] } };
  return JSON.stringify({ cik: 1_000_042, facts: { "us-gaap": { StockholdersEquity: equity } } });
}

/** A filing row without the members that are the same in all tests. */
interface ShortRow {
  readonly start?: string;
  readonly end: string;
  readonly val: number;
  readonly filed: string;
  readonly form?: string;
  readonly accn?: string;
}

/** Parses the figures of a company that has filed these rows by tag. */
function figures(
  rows: Readonly<Record<string, readonly ShortRow[]>>,
  { symbol = "ACME", from = "2000-01-01" } = {},
) {
  const concepts = Object.entries(rows).map(([tag, list]) => {
    const isCount = tag.includes("Shares") || tag.includes("SharesOutstanding");
    const full = list.map((row) => ({ accn: `a-${row.filed}`, form: "10-Q", ...row }));
    return [tag, { units: { [isCount ? "shares" : "USD"]: full } }] as const;
  });
  const facts = { dei: Object.fromEntries(concepts), "us-gaap": Object.fromEntries(concepts) };
  const parsed = CompanyFacts.parse({ cik: 1, entityName: "Acme", facts });
  return reportedFiguresOf(
    filingsOf({ ...parsed, facts: { "us-gaap": parsed.facts["us-gaap"] } }),
    {
      symbol,
      from,
    },
  );
}

const brief = ({ data }: Pick<ReturnType<typeof figures>, "data">, metric: FundamentalMetric) =>
  told(data, data[0]?.symbol ?? "", metric).map(
    ({ end, value, known }) => `${end.slice(0, 10)} ${value} ${known}`,
  );

describe("figures derived from SEC filings", () => {
  const YEAR = "2024-01-01";

  it("include the fourth quarter, computed as the year minus nine months", () => {
    const NetIncomeLoss = [
      { start: "2024-07-01", end: "2024-09-30", val: 30, filed: "2024-10-30" },
      { start: YEAR, end: "2024-09-30", val: 60, filed: "2024-10-30" },
      { start: YEAR, end: "2024-12-31", val: 100, filed: "2025-02-10", form: "10-K" },
    ];
    expect(brief(figures({ NetIncomeLoss }), "netIncome")).toEqual([
      "2024-09-30 30 2024-10-30",
      "2024-12-31 40 2025-02-10",
    ]);
  });

  it("do not include a second quarter when only the half year is filed and the first quarter is missing", () => {
    const NetIncomeLoss = [{ start: YEAR, end: "2024-06-30", val: 50, filed: "2024-07-30" }];
    expect(figures({ NetIncomeLoss }).data).toEqual([]);
  });

  it("may cover quarters of 12 and 17 weeks", () => {
    const NetIncomeLoss = [
      { start: "2024-09-02", end: "2024-11-24", val: 12, filed: "2024-12-20" },
      { start: "2024-09-02", end: "2025-05-11", val: 40, filed: "2025-06-05" },
      { start: "2024-09-02", end: "2025-09-07", val: 57, filed: "2025-10-08", form: "10-K" },
    ];
    expect(brief(figures({ NetIncomeLoss }), "netIncome")).toEqual([
      "2024-11-24 12 2024-12-20",
      "2025-09-07 17 2025-10-08",
    ]);
  });

  it("never combine the values of two tags", () => {
    const rows = {
      NetIncomeLoss: [{ start: YEAR, end: "2024-09-30", val: 60, filed: "2024-10-30" }],
      ProfitLoss: [{ start: YEAR, end: "2024-12-31", val: 100, filed: "2025-02-10", form: "10-K" }],
    };
    expect(figures(rows).data).toEqual([]);
  });

  it("use the preferred tag of a filing before its substitutes", () => {
    const row = { end: "2024-12-31", filed: "2025-02-10", form: "10-K" };
    const StockholdersEquity = [{ ...row, val: 7 }];
    const whole = "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest";
    expect(brief(figures({ [whole]: [{ ...row, val: 8 }] }), "equity")).toEqual([
      "2024-12-31 8 2025-02-10",
    ]);
    expect(brief(figures({ [whole]: [{ ...row, val: 8 }], StockholdersEquity }), "equity")).toEqual(
      ["2024-12-31 7 2025-02-10"],
    );
  });

  it("are derived from the newest values known on the filing date, including amendments of a component", () => {
    const NetIncomeLoss = [
      { start: YEAR, end: "2024-09-30", val: 60, filed: "2024-10-30" },
      { start: YEAR, end: "2024-12-31", val: 100, filed: "2025-02-10", form: "10-K" },
      { start: YEAR, end: "2024-09-30", val: 50, filed: "2025-03-03", form: "10-Q/A" },
      { start: YEAR, end: "2024-12-31", val: 110, filed: "2025-04-04", form: "10-K/A" },
    ];
    expect(brief(figures({ NetIncomeLoss }), "netIncome")).toEqual([
      "2024-12-31 40 2025-02-10",
      "2024-12-31 50 2025-03-03",
      "2024-12-31 60 2025-04-04",
    ]);
  });

  it("exclude comparatives, proxy statements, and filings dated before the end of their period", () => {
    const StockholdersEquity = [
      { end: "2024-12-31", val: 1, filed: "2025-06-29", form: "10-Q" },
      { end: "2024-12-31", val: 2, filed: "2025-06-30", form: "10-Q" },
      { end: "2025-03-31", val: 3, filed: "2025-04-20", form: "DEF 14A" },
      { end: "2025-03-31", val: 4, filed: "2025-03-01", form: "10-Q" },
    ];
    expect(brief(figures({ StockholdersEquity }), "equity")).toEqual(["2024-12-31 1 2025-06-29"]);
  });

  it("exclude a figure that the next filing repeats", () => {
    const StockholdersEquity = [
      { end: "2024-12-31", val: 7, filed: "2025-02-10", form: "10-K" },
      { end: "2024-12-31", val: 7, filed: "2025-04-30" },
      { end: "2025-03-31", val: 8, filed: "2025-04-30" },
    ];
    expect(brief(figures({ StockholdersEquity }), "equity")).toEqual([
      "2024-12-31 7 2025-02-10",
      "2025-03-31 8 2025-04-30",
    ]);
  });

  it("use earlier filings to derive values, but include only values in the requested date range", () => {
    const NetIncomeLoss = [
      { start: YEAR, end: "2024-09-30", val: 60, filed: "2024-10-30" },
      { start: "2024-07-01", end: "2024-09-30", val: 30, filed: "2024-10-30" },
      { start: YEAR, end: "2024-12-31", val: 100, filed: "2025-02-10", form: "10-K" },
    ];
    const wanted = figures({ NetIncomeLoss }, { from: "2025-01-01" });
    expect(brief(wanted, "netIncome")).toEqual(["2024-12-31 40 2025-02-10"]);
  });

  it("include debt with its current portion, and no debt when a filing states none", () => {
    const row = { end: "2024-12-31", filed: "2025-02-10", form: "10-K" };
    const debt = (tags: Readonly<Record<string, number>>) =>
      brief(
        figures(
          Object.fromEntries(Object.entries(tags).map(([tag, val]) => [tag, [{ ...row, val }]])),
        ),
        "debt",
      ).map((line) => Number(line.split(" ")[1]));
    expect(debt({ StockholdersEquity: 1 })).toEqual([]);
    expect(debt({ ShortTermBorrowings: 5 })).toEqual([]);
    expect(debt({ LongTermDebtNoncurrent: 10 })).toEqual([10]);
    expect(debt({ LongTermDebtNoncurrent: 10, LongTermDebtCurrent: 2 })).toEqual([12]);
    expect(debt({ LongTermDebt: 13, LongTermDebtNoncurrent: 10, CommercialPaper: 5 })).toEqual([
      18,
    ]);
    expect(debt({ DebtLongtermAndShorttermCombinedAmount: 20, LongTermDebt: 13 })).toEqual([20]);
  });

  it("include free cash flow only if capital expenditure is known", () => {
    const row = { start: "2024-07-01", end: "2024-09-30", filed: "2024-10-30" };
    const NetCashProvidedByUsedInOperatingActivities = [{ ...row, val: 50 }];
    const rows = { NetCashProvidedByUsedInOperatingActivities };
    expect(figures(rows).data).toEqual([]);
    const PaymentsToAcquirePropertyPlantAndEquipment = [{ ...row, val: 0 }];
    const whole = { ...rows, PaymentsToAcquirePropertyPlantAndEquipment };
    expect(brief(figures(whole), "freeCashFlow")).toEqual(["2024-09-30 50 2024-10-30"]);
  });

  describe("for the share count", () => {
    const row = { end: "2024-12-31", filed: "2025-02-10", form: "10-K" };
    const EntityCommonStockSharesOutstanding = [{ ...row, end: "2025-01-31", val: 100 }];
    const CommonStockSharesOutstanding = [{ ...row, val: 99 }];
    const WeightedAverageNumberOfDilutedSharesOutstanding = [
      { ...row, start: "2024-01-01", val: 95 },
      { ...row, start: "2024-10-01", val: 97 },
      { ...row, start: "2023-10-01", end: "2023-12-31", val: 90 },
    ];

    it("use the cover page, the balance sheet, or the diluted count of the last quarter, in this order", () => {
      const diluted = { WeightedAverageNumberOfDilutedSharesOutstanding };
      const balance = { ...diluted, CommonStockSharesOutstanding };
      const cover = { ...balance, EntityCommonStockSharesOutstanding };
      expect(brief(figures(cover), "shares")).toEqual(["2025-01-31 100 2025-02-10"]);
      expect(brief(figures(balance), "shares")).toEqual(["2024-12-31 99 2025-02-10"]);
      expect(brief(figures(diluted), "shares")).toEqual(["2024-12-31 97 2025-02-10"]);
    });

    it("use only the cover page for a symbol of one of several share classes", () => {
      const symbol = "BRK-B";
      expect(figures({ CommonStockSharesOutstanding }, { symbol }).data).toEqual([]);
      const cover = figures({ EntityCommonStockSharesOutstanding }, { symbol });
      expect(brief(cover, "shares")).toEqual(["2025-01-31 100 2025-02-10"]);
    });

    it("are dated one day before the filing when the shares were counted on the filing date", () => {
      const today = [{ ...row, end: row.filed, val: 100 }];
      const rows = { EntityCommonStockSharesOutstanding: today };
      expect(brief(figures(rows), "shares")).toEqual(["2025-02-09 100 2025-02-10"]);
    });

    it("are quarantined when the count is zero", () => {
      const none = [{ ...row, val: 0 }];
      const { data, rejected } = figures({ EntityCommonStockSharesOutstanding: none });
      expect(data).toEqual([]);
      expect(rejected).toMatchObject([{ symbol: "ACME", reason: "shares cannot be 0" }]);
    });
  });

  it("are quarantined when their amount is impossible", () => {
    const row = { end: "2024-12-31", filed: "2025-02-10", form: "10-K", val: -1e17 };
    expect(figures({ StockholdersEquity: [row] })).toMatchObject({
      data: [],
      rejected: [{ feed: "fundamentals", id: "equity a-2025-02-10" }],
    });
  });
});
