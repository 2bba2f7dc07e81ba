import type { MarketView } from "../market/market-view.ts";
import { METHOD_VERSION, type PastSnapshot } from "../score/snapshot.ts";
import type { Cell, Column, ColumnType } from "../tables/table.ts";
import { isoInstant, isoInstantOrNull } from "./common.ts";
import { wholePoints } from "./rounding.ts";
import { sessionOf } from "./signal-point.ts";

/** A snapshot with the market that it is of. */
export interface SignalRow {
  readonly snapshot: PastSnapshot;
  readonly market: Pick<MarketView, "mode" | "dayMs" | "sessionAt">;
}

/** A column about the snapshot alone. */
const of = (
  name: string,
  type: ColumnType,
  cell: (snapshot: PastSnapshot) => Cell,
  about?: string,
): Column<SignalRow> => ({
  name,
  type,
  ...(about !== undefined && { about }),
  cell: ({ snapshot }) => cell(snapshot),
});

/** Columns of signals: of several instruments at one time, and of one instrument over time. */
export const signalColumns: readonly Column<SignalRow>[] = [
  {
    name: "session",
    type: "text",
    about: "Trading date; of a coin the UTC day.",
    cell: ({ snapshot, market }) => sessionOf(snapshot, market),
  },
  of("symbol", "text", ({ instrument }) => instrument.symbol),
  of("name", "text", ({ instrument }) => instrument.name),
  of("assetClass", "text", ({ instrument }) => instrument.assetClass),
  of("exchange", "text", ({ instrument }) => instrument.exchange),
  of("asOf", "instant", ({ at }) => isoInstant(at)),
  of("status", "text", ({ status }) => status),
  of("signal", "text", ({ signal }) => signal.direction),
  of("score", "integer", ({ score }) => wholePoints(score), "Points, 0 to 100."),
  of("scoreRaw", "number", ({ score }) => score),
  of("scoreSmoothed", "number", ({ signal }) => signal.smoothed),
  of("confidence", "number", ({ confidence }) => confidence, "Fraction."),
  of("coverage", "number", ({ coverage }) => coverage, "Fraction."),
  of("since", "instant", ({ signal }) => isoInstant(signal.since), "When the signal began."),
  of("price", "number", ({ price }) => price?.value ?? null, "Newest close as traded."),
  of("currency", "text", ({ instrument }) => instrument.currency),
  of("priceAt", "instant", ({ price }) => isoInstantOrNull(price?.at ?? null)),
  of("methodVersion", "text", ({ methodVersion = METHOD_VERSION }) => methodVersion),
  { name: "market", type: "text", cell: ({ market }) => market.mode },
];
