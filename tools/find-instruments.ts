import { z } from "zod";
import {
  AnswerOrigin,
  AnswerStatus,
  answerOrigin,
  CursorInput,
  DetailInput,
  type DetailLevel,
  InstantAnswer,
  InstrumentIdentity,
  instrumentIdentityOf,
} from "../src/answers/common.ts";
import { NextReportFields, nextReportAnswer } from "../src/answers/next-report.ts";
import { FactorStatusAnswer, factorStatusAnswer } from "../src/answers/why.ts";
import { FACTORS } from "../src/factors/reading.ts";
import { AssetClass, type Instrument } from "../src/market/instrument.ts";
import { isTickerQuery, MATCHES, matchInstruments } from "../src/market/symbols.ts";
import type { Snapshot } from "../src/score/snapshot.ts";
import { tableOf } from "../src/tables/table.ts";
import { chosenColumns, createListPage, FieldsInput, FieldTable } from "../src/tool/fields.ts";
import {
  type InstrumentRow,
  instrumentColumns,
  knownBarSpan,
} from "../src/tool/instrument-table.ts";
import { notCoveredReason, unpricedInstruments } from "../src/tool/lookup.ts";
import { paginate } from "../src/tool/pagination.ts";
import { defineTool, type ToolContext } from "../src/tool/tool.ts";

const FullCandidate = z.object({
  ...InstrumentIdentity.shape,
  currency: z.string(),
  sector: z.string().nullable(),
  status: AnswerStatus,
  factors: z
    .record(z.enum(FACTORS), FactorStatusAnswer)
    .describe("Which factors can be measured, and why the others cannot."),
  firstDataAt: InstantAnswer.nullable(),
  lastDataAt: InstantAnswer.nullable(),
  ...NextReportFields.shape,
  match: z
    .enum(MATCHES)
    .optional()
    .describe(
      "With query: symbol; word: all its words; prefix: their beginnings; some: not all of them; substring: only inside a word. The last two are rarely meant.",
    ),
});

const Candidate = FullCandidate.partial({
  exchange: true,
  currency: true,
  factors: true,
  firstDataAt: true,
  lastDataAt: true,
  nextReport: true,
  nextReportReason: true,
});

const Input = z.strictObject({
  query: z
    .string()
    .max(100)
    .default("")
    .describe("Ticker, or words of a name; omit it to list all."),
  assetClass: AssetClass.optional().describe("Only this class."),
  detail: DetailInput,
  fields: FieldsInput,
  limit: z.number().int().min(1).max(500).default(50).describe("Most rows of a page."),
  cursor: CursorInput.optional(),
});

type Query = z.output<typeof Input>;

/** The tool that finds the instruments that the service covers. */
export const findInstruments = defineTool({
  name: "find_instruments",
  title: "Find instruments",
  description:
    'Which stocks, funds and coins are covered, by ticker or name, to find a symbol: {"assetClass": "crypto"} lists all coins. For scores, also of a whole class or sector, use get_signal.',
  scopes: ["signals:read"],
  routes: [{ method: "GET", path: "/api/instruments" }],
  isShared: true,
  input: Input,
  output: z.object({
    ...AnswerOrigin.shape,
    total: z.int().describe("How many match, on this page or not."),
    items: z.array(Candidate).optional(),
    ...FieldTable.shape,
    note: z.string().optional().describe("Why there are no items, or none that is likely meant."),
    nextCursor: z.string().nullable(),
  }),

  tables: {
    kinds: { instruments: instrumentColumns },
    read(query, context) {
      const { items, nextCursor } = paginate(found(query, context), requestOf(query));
      return { ...tableOf(chosenColumns(instrumentColumns, query.fields), items), nextCursor };
    },
  },

  run(query, context) {
    const { detail } = query;
    const list = found(query, context);
    const note = noteOf(list, query, context);
    const { seen, items, table, nextCursor } = createListPage(list, {
      ...requestOf(query),
      query,
      render: ({ instrument, snapshot, match }) => ({
        ...(snapshot === undefined
          ? unpricedCandidate(instrument, detail)
          : candidate(snapshot, context, detail)),
        ...(match && { match }),
      }),
      columns: instrumentColumns,
      recordOf: (row) => row,
    });
    const symbols = seen.map(({ instrument }) => instrument.symbol);
    return {
      ...answerOrigin(context, context.market.knownUntil(), { detail, symbols }),
      total: list.length,
      ...(items && { items }),
      ...table,
      ...(note !== undefined && { note }),
      nextCursor,
    };
  },
});

/** Why nothing was found, or why what was found is hardly what was meant; `undefined` otherwise. */
function noteOf(
  [best]: readonly InstrumentRow[],
  { query, assetClass }: Query,
  { market }: ToolContext,
): string | undefined {
  const among = assetClass === undefined ? "" : ` of class ${assetClass}`;
  const named = JSON.stringify(query);
  if (isTickerQuery(query)) {
    return best?.match === "symbol" ? undefined : `No ticker${among} is ${query.trim()}.`;
  }
  const retry = "Names are those of the data source: try the ticker or one word.";
  if (best === undefined) {
    return `No ticker or name${among} contains ${named}${notCoveredReason(market)}. ${retry}`;
  }
  if (best.match === "some") {
    return `No name${among} has all words of ${named}; these have some. ${retry}`;
  }
  if (best.match !== "substring") return undefined;
  return `No name${among} has the word ${named}; these only contain it inside a word.`;
}

/** Request for the page of instruments that a query asks for. */
const requestOf = ({ limit, cursor }: Query) => ({
  list: "instruments",
  limit,
  cursor,
  keyOf: ({ instrument }: InstrumentRow) => instrument.symbol,
});

/** The instruments that match a query, with their newest snapshots. */
function found(
  { query, assetClass }: Query,
  { market, snapshots }: ToolContext,
): readonly InstrumentRow[] {
  const waiting = unpricedInstruments(market);
  const all = [...market.instruments(), ...waiting];
  return matchInstruments(all.sort(bySymbol), query)
    .filter(({ instrument }) => assetClass === undefined || instrument.assetClass === assetClass)
    .map(({ instrument, match }) => ({
      instrument,
      match,
      snapshot: waiting.includes(instrument) ? undefined : snapshots.newest(instrument.symbol),
      market,
    }));
}

const bySymbol = (one: Instrument, other: Instrument) => (one.symbol < other.symbol ? -1 : 1);

/** The members of a candidate in a brief response. */
const briefCandidate = (
  { symbol, name, assetClass, sector }: Instrument,
  status: z.input<typeof AnswerStatus>,
) => ({ symbol, name, assetClass, sector, status });

/** The candidate for an instrument without a price, for which no factor can be measured. */
function unpricedCandidate(instrument: Instrument, detail: DetailLevel): z.input<typeof Candidate> {
  const none = "no_feed";
  const status = "insufficient_data";
  if (detail === "brief") return briefCandidate(instrument, status);
  return {
    ...instrumentIdentityOf(instrument),
    currency: instrument.currency,
    sector: instrument.sector,
    status,
    factors: { momentum: none, valuation: none, social: none, darkpool: none },
    firstDataAt: null,
    lastDataAt: null,
    nextReport: null,
    nextReportReason: "No price is known yet.",
  };
}

function candidate(
  { instrument, status, factors }: Snapshot,
  { market }: ToolContext,
  detail: DetailLevel,
): z.input<typeof Candidate> {
  if (detail === "brief") return briefCandidate(instrument, status);
  return {
    ...instrumentIdentityOf(instrument),
    currency: instrument.currency,
    sector: instrument.sector,
    status,
    factors: {
      momentum: factorStatusAnswer(factors.momentum),
      valuation: factorStatusAnswer(factors.valuation),
      social: factorStatusAnswer(factors.social),
      darkpool: factorStatusAnswer(factors.darkpool),
    },
    ...knownBarSpan(market.records(instrument.symbol), market.knownUntil()),
    ...nextReportAnswer(instrument, market.knownUntil(), market),
  };
}
