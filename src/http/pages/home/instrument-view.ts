import type { z } from "zod";
import { getDarkpool } from "../../../../tools/get-darkpool.ts";
import { isoInstant } from "../../../answers/common.ts";
import { type FullFactors, fullFactors } from "../../../answers/factors.ts";
import { fullSignal } from "../../../answers/signal.ts";
import { exactSignal } from "../../../answers/signal-point.ts";
import type { Scope } from "../../../auth/scopes.ts";
import type { ToolContext } from "../../../tool.ts";
import type { Html } from "../html.ts";
import type { ChartData, History, SignalAnswer } from "./history-chart.ts";

/** Length of the history in market days: the sessions of a year. */
const HISTORY_DAYS = 366;

/** Minimum number of points of a chart. */
const MIN_POINTS = 2;

/** Number of sessions and prints in the dark pool section. */
const DARKPOOL_ROWS = 20;

/** The factors of an instrument, from `get_factors`. */
export type FactorsAnswer = FullFactors;

/** Off-exchange trading of an instrument, from `get_darkpool`. */
export interface Darkpool {
  readonly feeds: DarkpoolAnswer["feeds"];
  readonly note: string;
  readonly summary: NonNullable<DarkpoolAnswer["summary"]>;
  readonly days: NonNullable<DarkpoolAnswer["days"]>;
  readonly prints: NonNullable<DarkpoolAnswer["prints"]>;
}

type DarkpoolAnswer = z.infer<typeof getDarkpool.output>;

/** All data of an instrument's page. */
export interface InstrumentView {
  readonly signal: SignalAnswer;
  /** Oldest first. */
  readonly history: History;
  /** The history as a chart; absent if it is too short. */
  readonly drawings: Html | undefined;
  /** Absent for viewers without access, like `darkpool`. */
  readonly factors: FactorsAnswer | undefined;
  readonly darkpool: Darkpool | undefined;
}

/** Reads the data of a listed instrument through the tools. */
export async function viewInstrument(
  symbol: string,
  context: ToolContext,
): Promise<InstrumentView> {
  const { market, snapshots } = context;
  const newest = snapshots.newest(symbol);
  const signal = fullSignal(newest, context, { showsFactors: false });
  const { dayMs } = market;
  const past = market.isWarm?.()
    ? []
    : snapshots.history(symbol, Math.max(0, newest.at - HISTORY_DAYS * dayMs), newest.at);
  const history = Array.from(past, (snapshot) => ({
    asOf: isoInstant(snapshot.at),
    status: snapshot.status,
    ...exactSignal(snapshot),
  }));
  return {
    signal,
    history,
    drawings: history.length < MIN_POINTS ? undefined : await draw({ ...signal, history, dayMs }),
    factors: fullFactors(newest, context, undefined),
    darkpool: viewDarkpool(symbol, context),
  };
}

/** Draws the chart. The chart library is loaded for the first chart, so that a service without page
 *  views starts faster. */
async function draw(data: ChartData): Promise<Html> {
  const { historyDrawings } = await import("./history-chart.ts");
  return historyDrawings(data);
}

/** The parts that a viewer may see. */
export const visibleParts = (view: InstrumentView, scopes: ReadonlySet<Scope>): InstrumentView => ({
  ...view,
  factors: scopes.has("factor:read") ? view.factors : undefined,
  darkpool: scopes.has("darkpool:read") ? view.darkpool : undefined,
});

function viewDarkpool(symbol: string, context: ToolContext): Darkpool {
  const look = (view: DarkpoolAnswer["view"]) =>
    getDarkpool.run({ symbol, view, detail: "full", limit: DARKPOOL_ROWS }, context);
  const { feeds, note, summary } = look("summary");
  if (summary === undefined) throw new Error("a summary without figures");
  const { days = [] } = look("days");
  const { prints = [] } = look("prints");
  return { feeds, note, summary, days, prints };
}
