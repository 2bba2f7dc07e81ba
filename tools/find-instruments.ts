import { z } from "zod";
import {
  AnswerOrigin,
  answerOrigin,
  CursorInput,
  DetailInput,
} from "../src/answers/shared-members.ts";
import { AssetClass, type Instrument } from "../src/market/instrument.ts";
import { isTickerQuery, matchInstruments } from "../src/market/symbols.ts";
import { tableOf } from "../src/tables/table.ts";
import { chosenColumns, createListPage, FieldsInput, FieldTable } from "../src/tool/fields.ts";
import {
  InstrumentItem,
  type InstrumentRecord,
  instrumentColumns,
  instrumentItem,
} from "../src/tool/instrument-row.ts";
import { notCoveredReason, unpricedInstruments } from "../src/tool/lookup.ts";
import { paginate } from "../src/tool/pagination.ts";
import { defineTool, type ToolContext } from "../src/tool/tool.ts";

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
    items: z.array(InstrumentItem).optional(),
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
      render: (record) => instrumentItem(record, detail),
      columns: instrumentColumns,
      recordOf: (record) => record,
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
  [best]: readonly InstrumentRecord[],
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
  keyOf: ({ instrument }: InstrumentRecord) => instrument.symbol,
});

/** The instruments that match a query, with their newest snapshots. */
function found(
  { query, assetClass }: Query,
  { market, snapshots }: ToolContext,
): readonly InstrumentRecord[] {
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
