import { z } from "zod";
import {
  AnswerStatus,
  CursorInput,
  Identity,
  Instant,
  identityOf,
  Provenance,
  provenance,
} from "../src/answers/common.ts";
import { instrumentColumns, knownSpan } from "../src/answers/instrument-table.ts";
import { awaited } from "../src/answers/lookup.ts";
import { NextReportFields, nextReportAnswer } from "../src/answers/next-report.ts";
import { FACTOR_STATUSES } from "../src/factors/reading.ts";
import { paginate } from "../src/lib/pagination.ts";
import { AssetClass, type Instrument } from "../src/market/instrument.ts";
import { searchInstruments } from "../src/market/symbols.ts";
import type { Snapshot } from "../src/score/snapshot.ts";
import { tableOf } from "../src/tables/table.ts";
import { defineTool, type ToolContext } from "../src/tool.ts";

const FactorStatus = z.enum(FACTOR_STATUSES);

const Candidate = z.object({
  ...Identity.shape,
  currency: z.string(),
  sector: z.string().nullable(),
  status: AnswerStatus,
  coverage: z
    .object({
      momentum: FactorStatus,
      valuation: FactorStatus,
      social: FactorStatus,
      darkpool: FactorStatus,
    })
    .describe("Which factors can be measured, and why the others cannot."),
  firstDataAt: Instant.nullable(),
  lastDataAt: Instant.nullable(),
  ...NextReportFields.shape,
});

const Input = z.strictObject({
  query: z
    .string()
    .max(100)
    .default("")
    .describe("Prefix of a ticker, or of words of a name; omit it to list all."),
  assetClass: AssetClass.optional().describe("Only this class."),
  limit: z.number().int().min(1).max(500).default(50).describe("Maximum items per page."),
  cursor: CursorInput.optional(),
});

/** The instruments that the service covers. */
export const findInstruments = defineTool({
  name: "find_instruments",
  title: "Find instruments",
  description:
    "Stocks, funds and coins that are covered, by ticker or name, with what is known about each. Use it when a symbol is unknown or to list everything.",
  scopes: ["signals:read"],
  routes: [{ method: "GET", path: "/api/instruments" }],
  isShared: true,
  input: Input,
  output: z.object({
    ...Provenance.shape,
    items: z.array(Candidate),
    nextCursor: z.string().nullable(),
  }),

  tables: {
    kinds: { instruments: instrumentColumns },
    read(query, context) {
      const { items, nextCursor } = page(query, context);
      return { ...tableOf(instrumentColumns, items), nextCursor };
    },
  },

  run(query, context) {
    const { items, nextCursor } = page(query, context);
    const symbols = items.map(({ instrument }) => instrument.symbol);
    return {
      ...provenance(context, context.market.knownUntil(), symbols),
      items: items.map(({ instrument, snapshot }) =>
        snapshot === undefined ? unpricedCandidate(instrument) : candidate(snapshot, context),
      ),
      nextCursor,
    };
  },
});

/** The instruments that a query finds, with their newest snapshots. */
function page(
  { query, assetClass, limit, cursor }: z.output<typeof Input>,
  { market, snapshots }: ToolContext,
) {
  const waiting = awaited(market);
  const all = [...market.instruments(), ...waiting];
  const found = searchInstruments(all.sort(bySymbol), query).filter(
    (instrument) => assetClass === undefined || instrument.assetClass === assetClass,
  );
  const { items, nextCursor } = paginate(found, {
    list: "instruments",
    limit,
    cursor,
    keyOf: ({ symbol }) => symbol,
  });
  const rows = items.map((instrument) => ({
    instrument,
    snapshot: waiting.includes(instrument) ? undefined : snapshots.newest(instrument.symbol),
    market,
  }));
  return { items: rows, nextCursor };
}

const bySymbol = (one: Instrument, other: Instrument) => (one.symbol < other.symbol ? -1 : 1);

/** The answer for an instrument without a price, for which nothing can be measured. */
function unpricedCandidate(instrument: Instrument): z.input<typeof Candidate> {
  const none = "not_observed";
  return {
    ...identityOf(instrument),
    currency: instrument.currency,
    sector: instrument.sector,
    status: "insufficient_data",
    coverage: { momentum: none, valuation: none, social: none, darkpool: none },
    firstDataAt: null,
    lastDataAt: null,
    nextReport: null,
    nextReportReason: "No price is known yet.",
  };
}

function candidate({ instrument, status, factors }: Snapshot, { market }: ToolContext) {
  return {
    ...identityOf(instrument),
    currency: instrument.currency,
    sector: instrument.sector,
    status,
    coverage: {
      momentum: factors.momentum.status,
      valuation: factors.valuation.status,
      social: factors.social.status,
      darkpool: factors.darkpool.status,
    },
    ...knownSpan(market.records(instrument.symbol), market.knownUntil()),
    ...nextReportAnswer(instrument, market.knownUntil(), market),
  };
}
