import { z } from "zod";
import {
  AnswerStatus,
  CursorInput,
  Identity,
  Instant,
  identityOf,
  isoInstantOrNull,
  Provenance,
  provenance,
} from "../src/answers/common.ts";
import { awaited } from "../src/answers/lookup.ts";
import { NextReportFields, nextReportAnswer } from "../src/answers/next-report.ts";
import { FACTOR_STATUSES } from "../src/factors/reading.ts";
import { paginate } from "../src/lib/pagination.ts";
import { AssetClass, type Instrument } from "../src/market/instrument.ts";
import { countKnown } from "../src/market/point-in-time.ts";
import { searchInstruments } from "../src/market/symbols.ts";
import type { Snapshot } from "../src/score/snapshot.ts";
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

/** The instruments that the service covers. */
export const findInstruments = defineTool({
  name: "find_instruments",
  title: "Find instruments",
  description:
    "Stocks, funds and coins that are covered, by ticker or name, with what is known about each. Use it when a symbol is unknown or to list everything.",
  scopes: ["signals:read"],
  routes: [{ method: "GET", path: "/api/instruments" }],
  isShared: true,
  input: z.strictObject({
    query: z
      .string()
      .max(100)
      .default("")
      .describe("Prefix of a ticker, or of words of a name; omit it to list all."),
    assetClass: AssetClass.optional().describe("Only this class."),
    limit: z.number().int().min(1).max(500).default(50).describe("Maximum items per page."),
    cursor: CursorInput.optional(),
  }),
  output: z.object({
    ...Provenance.shape,
    items: z.array(Candidate),
    nextCursor: z.string().nullable(),
  }),

  run({ query, assetClass, limit, cursor }, context) {
    const waiting = awaited(context.market);
    const all = [...context.market.instruments(), ...waiting];
    const found = searchInstruments(all.sort(bySymbol), query).filter(
      (instrument) => assetClass === undefined || instrument.assetClass === assetClass,
    );
    const { items, nextCursor } = paginate(found, {
      list: "instruments",
      limit,
      cursor,
      keyOf: ({ symbol }) => symbol,
    });
    const symbols = items.map(({ symbol }) => symbol);
    return {
      ...provenance(context, context.market.knownUntil(), symbols),
      items: items.map((one) =>
        waiting.includes(one)
          ? unpricedCandidate(one)
          : candidate(context.snapshots.newest(one.symbol), context),
      ),
      nextCursor,
    };
  },
});

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
  const { bars } = market.records(instrument.symbol);
  const known = countKnown(bars, market.knownUntil());
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
    firstDataAt: isoInstantOrNull(bars.at(0)?.availableAt ?? null),
    lastDataAt: isoInstantOrNull(known === 0 ? null : (bars.at(known - 1)?.availableAt ?? null)),
    ...nextReportAnswer(instrument, market.knownUntil(), market),
  };
}
