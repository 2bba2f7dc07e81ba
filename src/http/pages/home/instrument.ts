import type { z } from "zod";
import { getDarkpool } from "../../../../tools/get-darkpool.ts";
import { getFactors } from "../../../../tools/get-factors.ts";
import { getSignal } from "../../../../tools/get-signal.ts";
import { isoInstant } from "../../../answers/common.ts";
import type { Scope } from "../../../auth/scopes.ts";
import type { ToolContext } from "../../../tool.ts";
import type { Html } from "../html.ts";
import type { ChartData, History, SignalAnswer } from "./history-chart.ts";

/** Market days that the history goes back: the sessions of a year. */
const HISTORY_DAYS = 366;

/** The most that `get_signal` answers with. */
const MOST_POINTS = 500;

/** Fewer make no line. */
const MIN_POINTS = 2;

/** Sessions and prints of the dark pool view. */
const DARKPOOL_ROWS = 20;

/** The factors of an instrument, as `get_factors` answers. */
export type FactorsAnswer = ReturnType<typeof getFactors.run>;

/** Off-exchange trading of an instrument, as `get_darkpool` answers. */
export interface Darkpool {
  readonly feeds: DarkpoolAnswer["feeds"];
  readonly note: string;
  readonly summary: NonNullable<DarkpoolAnswer["summary"]>;
  readonly days: NonNullable<DarkpoolAnswer["days"]>;
  readonly prints: NonNullable<DarkpoolAnswer["prints"]>;
}

type DarkpoolAnswer = z.infer<typeof getDarkpool.output>;

/** All that there is to see of an instrument. */
export interface InstrumentView {
  readonly signal: SignalAnswer;
  /** Oldest first. */
  readonly history: History;
  /** The same, drawn; nothing where it is too short. */
  readonly drawings: Html | undefined;
  /** Absent for viewers who may not see it, like the next. */
  readonly factors: FactorsAnswer | undefined;
  readonly darkpool: Darkpool | undefined;
}

/** Looks a listed instrument up, in the words of the tools. */
export async function viewInstrument(
  symbol: string,
  context: ToolContext,
): Promise<InstrumentView> {
  const signal = getSignal.run({ symbol, limit: 1 }, context) as SignalAnswer;
  const { dayMs } = context.market;
  const from = isoInstant(Math.max(0, Date.parse(signal.asOf) - HISTORY_DAYS * dayMs));
  const past = getSignal.run({ symbol, from, limit: MOST_POINTS }, context);
  const history = "history" in past ? past.history : [];
  return {
    signal,
    history,
    drawings: history.length < MIN_POINTS ? undefined : await draw({ ...signal, history, dayMs }),
    factors: getFactors.run({ symbol }, context),
    darkpool: viewDarkpool(symbol, context),
  };
}

/** The chart library is loaded for the first drawing: a service that nobody looks at starts without. */
async function draw(data: ChartData): Promise<Html> {
  const { historyDrawings } = await import("./history-chart.ts");
  return historyDrawings(data);
}

/** The parts of it that a viewer may see. */
export const permitted = (view: InstrumentView, scopes: ReadonlySet<Scope>): InstrumentView => ({
  ...view,
  factors: scopes.has("factor:read") ? view.factors : undefined,
  darkpool: scopes.has("darkpool:read") ? view.darkpool : undefined,
});

function viewDarkpool(symbol: string, context: ToolContext): Darkpool {
  const look = (view: DarkpoolAnswer["view"]): DarkpoolAnswer =>
    getDarkpool.run({ symbol, view, limit: DARKPOOL_ROWS }, context) as DarkpoolAnswer;
  const { feeds, note, summary } = look("summary");
  if (summary === undefined) throw new Error("a summary without figures");
  const { days = [] } = look("days");
  const { prints = [] } = look("prints");
  return { feeds, note, summary, days, prints };
}
