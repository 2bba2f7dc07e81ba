import type { z } from "zod";
import { getDarkpool } from "../../../../tools/get-darkpool.ts";
import type { Scope } from "../../../access/scopes.ts";
import { type FullFactors, fullFactorsAnswer } from "../../../tool/factors.ts";
import { type FullSignal, fullSignalAnswer } from "../../../tool/signal.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { simpleReturn } from "./peers.ts";

/** Number of sessions in the dark pool section: one quarter. */
const DARKPOOL_DAYS = 63;

/** Number of prints (single off-exchange trades) in the dark pool section. */
const DARKPOOL_PRINTS = 20;

/** The factors of an instrument, from `get_factors`. */
export type FactorsAnswer = FullFactors;

/** Off-exchange trading of an instrument, from `get_darkpool`. */
export interface DarkpoolView {
  readonly feeds: DarkpoolAnswer["feeds"];
  readonly note: string;
  readonly summary: NonNullable<DarkpoolAnswer["summary"]>;
  readonly days: NonNullable<DarkpoolAnswer["days"]>;
  readonly prints: NonNullable<DarkpoolAnswer["prints"]>;
}

type DarkpoolAnswer = z.infer<typeof getDarkpool.output>;

/** All data of an instrument's page. */
export interface InstrumentView {
  readonly signal: FullSignal;
  /** `undefined` for viewers without access; the same applies to `darkpool`. */
  readonly factors: FactorsAnswer | undefined;
  readonly darkpool: DarkpoolView | undefined;
  readonly changes: {
    /**
     * Simple returns over the newest session, month and year; `null` if the history is too short.
     */
    readonly session: number | null;
    readonly month: number | null;
    readonly year: number | null;
  };
}

/** Reads the data of a listed instrument through the tools. */
export function viewInstrument(symbol: string, context: ToolContext): InstrumentView {
  const newest = context.snapshots.newest(symbol);
  const isDaily = newest.instrument.assetClass === "crypto";
  return {
    signal: fullSignalAnswer(newest, context, { showsFactors: false }),
    factors: fullFactorsAnswer(newest, context, undefined),
    darkpool: viewDarkpool(symbol, context),
    changes: {
      session: simpleReturn(symbol, context),
      month: simpleReturn(symbol, context, isDaily ? 30 : 21),
      year: simpleReturn(symbol, context, isDaily ? 365 : 252),
    },
  };
}

/** Removes the parts of a view that a viewer may not see. */
export const restrictViewToScopes = (
  view: InstrumentView,
  scopes: ReadonlySet<Scope>,
): InstrumentView => ({
  ...view,
  factors: scopes.has("factor:read") ? view.factors : undefined,
  darkpool: scopes.has("darkpool:read") ? view.darkpool : undefined,
});

function viewDarkpool(symbol: string, context: ToolContext): DarkpoolView {
  const look = (view: DarkpoolAnswer["view"], limit: number) =>
    getDarkpool.run({ symbol, view, detail: "full", limit }, context);
  const { feeds, note, summary } = look("summary", 1);
  if (summary === undefined) throw new Error("a summary without figures");
  const { days = [] } = look("days", DARKPOOL_DAYS);
  const { prints = [] } = look("prints", DARKPOOL_PRINTS);
  return { feeds, note, summary, days, prints };
}
