import { FACTORS, type Factor } from "../factors/reading.ts";
import { DAY_MS } from "../lib/day.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Bar, RecordList } from "../market/records.ts";
import { runningMethod } from "../method/running.ts";
import { factorEvidenceOf, type PastSnapshot } from "../score/snapshot.ts";
import type { Cell, Column, ColumnType } from "../tables/table.ts";
import { isoInstant } from "./shared-members.ts";

/** The final snapshots of one asset class in one session. */
export interface PanelSession {
  /** When the session closed, Unix milliseconds. */
  readonly at: number;
  /** One snapshot per instrument, in alphabetical order of the symbols. */
  readonly snapshots: readonly PastSnapshot[];
}

/** A row of the panel: an instrument at the close of a session. */
interface PanelRow {
  readonly session: string;
  readonly asOf: string;
  readonly snapshot: PastSnapshot;
  readonly growth: Growth;
}

/** Growth of an instrument up to the close of a session. */
interface Growth {
  /**
   * First close times the growth since then, splits and dividends included; `null` without a bar.
   */
  readonly adjustedClose: number | null;
  /** Simple return of the session; `null` without a bar, and for the first bar. */
  readonly totalReturn: number | null;
}

const panelColumn = (
  name: string,
  type: ColumnType,
  cell: (snapshot: PastSnapshot) => Cell,
  about?: string,
): Column<PanelRow> => ({
  name,
  type,
  ...(about !== undefined && { about }),
  cell: ({ snapshot }) => cell(snapshot),
});

const evidence = (factor: Factor): readonly Column<PanelRow>[] => [
  panelColumn(`${factor}Z`, "number", (snapshot) => factorEvidenceOf(snapshot)?.[factor].z ?? null),
  panelColumn(
    `${factor}Confidence`,
    "number",
    (snapshot) => factorEvidenceOf(snapshot)?.[factor].confidence ?? null,
  ),
];

/** Columns of the factors, shown only to callers with the scope to read them. */
const factorColumns: readonly Column<PanelRow>[] = FACTORS.flatMap(evidence);

/**
 * The columns of the panel: identity, score and price, then the factors and returns. Figures are
 * not rounded, so that the score can be recomputed from the factors.
 *
 * @param dayMs Length of a market day in milliseconds; if it is under 24 hours, a session is
 * labeled with an instant, not a date.
 */
export const panelColumns = ({
  dayMs,
  hasFactors,
}: {
  readonly dayMs: number;
  readonly hasFactors: boolean;
}): readonly Column<PanelRow>[] => [
  {
    name: "date",
    type: dayMs < DAY_MS ? "instant" : "date",
    about: "Trading date; of a coin the UTC day.",
    cell: ({ session }) => session,
  },
  panelColumn("symbol", "text", ({ instrument }) => instrument.symbol),
  panelColumn("assetClass", "text", ({ instrument }) => instrument.assetClass),
  {
    name: "asOf",
    type: "instant",
    about: "The close; nothing later was used.",
    cell: ({ asOf }) => asOf,
  },
  panelColumn("status", "text", ({ status }) => status),
  panelColumn("signal", "text", ({ signal }) => signal.direction),
  panelColumn("score", "number", ({ score }) => score, "Points, 0 to 100, not rounded."),
  panelColumn("scoreSmoothed", "number", ({ signal }) => signal.smoothed),
  panelColumn("confidence", "number", ({ confidence }) => confidence, "Fraction."),
  panelColumn("coverage", "number", ({ coverage }) => coverage, "Fraction."),
  panelColumn("price", "number", ({ price }) => price?.value ?? null, "Newest close as traded."),
  panelColumn(
    "methodVersion",
    "text",
    ({ methodVersion = runningMethod().version }) => methodVersion,
  ),
  ...(hasFactors ? factorColumns : []),
  {
    name: "adjustedClose",
    type: "number",
    about: "First close times the growth since, with splits and dividends; for ratios of rows.",
    cell: ({ growth }) => growth.adjustedClose,
  },
  {
    name: "totalReturn",
    type: "number",
    about: "Return of the session as a fraction, with splits and dividends.",
    cell: ({ growth }) => growth.totalReturn,
  },
  panelColumn(
    "steadiness",
    "number",
    ({ steadiness }) => steadiness?.value ?? null,
    "Points, 0 to 100: rank in the class by how far prices are likely to fall; empty: none is kept.",
  ),
];

/**
 * Converts a range of dates to the range of instants in which the sessions of these dates close, as
 * ISO 8601; instants are returned unchanged. The session of a coin closes at the first instant of
 * the next day.
 */
export const closingInstantRange = ({
  from,
  to,
}: {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}) => ({ from: afterStart(from, 1), to: afterStart(to, DAY_MS) });

/**
 * Converts a date to the instant `ms` milliseconds after its start; returns an instant unchanged.
 */
const afterStart = (time: string | undefined, ms: number): string | undefined =>
  time?.length === "2020-01-31".length ? isoInstant(Date.parse(time) + ms) : time;

/**
 * Creates a function that follows the growth of an instrument; instants must not decrease. It
 * begins at the first bar, so that later splits and dividends change no earlier figure.
 */
function followGrowth(bars: RecordList<Bar>): (at: number) => Growth {
  let next = 0;
  let adjustedClose: number | null = null;
  return (at) => {
    let totalReturn: number | null = null;
    for (let bar = bars.at(next); bar && bar.availableAt <= at; bar = bars.at(next)) {
      const { close, logReturn, availableAt } = bar;
      adjustedClose = (adjustedClose ?? close) * Math.exp(logReturn ?? 0);
      // Two bars become known at one close if the first was withheld as doubtful.
      if (availableAt === at && logReturn !== null) {
        totalReturn = (1 + (totalReturn ?? 0)) * Math.exp(logReturn) - 1;
      }
      next += 1;
    }
    return { adjustedClose, totalReturn };
  };
}

/** What the rows of a panel need of the market. */
interface PanelSource {
  readonly sessionAt: (at: number, assetClass: AssetClass) => string;
  readonly barsOf: (symbol: string) => RecordList<Bar>;
}

/** The rows of the given sessions, ordered by date and symbol. */
export function* panelRows(
  sessions: Iterable<PanelSession>,
  { sessionAt, barsOf }: PanelSource,
): Generator<PanelRow, void> {
  const growths = new Map<string, (at: number) => Growth>();
  for (const { at, snapshots } of sessions) {
    const [first] = snapshots;
    if (first === undefined) continue;
    // A session of a 24-hour market closes at the first instant of the next day.
    const session = sessionAt(at - 1, first.instrument.assetClass);
    const asOf = isoInstant(at);
    for (const snapshot of snapshots) {
      const { symbol } = snapshot.instrument;
      const growthAt = growths.get(symbol) ?? followGrowth(barsOf(symbol));
      growths.set(symbol, growthAt);
      yield { session, asOf, snapshot, growth: growthAt(at) };
    }
  }
}

/**
 * Merges the histories of instruments into sessions, oldest first.
 *
 * @param histories One list of final snapshots per instrument, in alphabetical order of the
 * symbols.
 * @param until Sessions that close later are excluded, Unix milliseconds.
 */
export function* mergeSessions(
  histories: readonly RecordList<PastSnapshot>[],
  until: number,
): Generator<PanelSession, void> {
  const heads = histories.map((history) => ({ history, next: 1, snapshot: history.at(0) }));
  for (;;) {
    const at = Math.min(...heads.map(({ snapshot }) => snapshot?.at ?? Number.POSITIVE_INFINITY));
    if (at > until || at === Number.POSITIVE_INFINITY) return;
    const snapshots: PastSnapshot[] = [];
    for (const head of heads) {
      if (head.snapshot?.at !== at) continue;
      snapshots.push(head.snapshot);
      head.snapshot = head.history.at(head.next);
      head.next += 1;
    }
    yield { at, snapshots };
  }
}
