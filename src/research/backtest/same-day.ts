import type { InstrumentRecords } from "../../market/records.ts";
import { sentimentMeasures, socialHalfLifeMs } from "../../messages/message-counters.ts";
import { type AuthorActivity, createAuthorActivity } from "../../messages/message-weight.ts";
import { createMessageStream } from "../../score/message-stream.ts";
import { rankCorrelation } from "../../statistics/rank-correlation.ts";
import type { GradedDateValue } from "./outcomes.ts";
import type { GridRow, ReturnGrid } from "./return-grid.ts";

/** Minimum total message weight of a graded instrument. */
const MIN_WEIGHT = 1;
/** Minimum number of instruments in a cross-section. */
export const MIN_SAME_DAY_INSTRUMENTS = 20;

/**
 * Rank correlation by session between sentiment at the close and the return in that session. This
 * is not a prediction: it validates the sentiment analysis, since prices and messages of a day move
 * together.
 *
 * @param from ISO date of the first graded session.
 */
export function sameDayCoefficients(
  records: readonly InstrumentRecords[],
  grid: ReturnGrid,
  { from, dayMs }: { readonly from: string; readonly dayMs: number },
): readonly GradedDateValue[] {
  const rows = new Map(grid.rows.map((row) => [row.instrument.symbol, row]));
  const authors = authorsOf(records, dayMs);
  const pairs = records.flatMap((one) => {
    const row = rows.get(one.instrument.symbol);
    return row === undefined ? [] : pairsOf(one, row, { grid, dayMs, authors });
  });
  const recent = pairs.filter(({ place }) => (grid.sessions[place]?.label ?? "") >= from);
  return [...Map.groupBy(recent, ({ place }) => place)]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([place, members]): GradedDateValue[] => {
      if (members.length < MIN_SAME_DAY_INSTRUMENTS) return [];
      const value = rankCorrelation(
        members.map(({ sentiment }) => sentiment),
        members.map(({ logReturn }) => logReturn),
      );
      return value === undefined ? [] : [{ place, value }];
    });
}

/** Activity of all authors, on which the weight of their messages depends. */
function authorsOf(records: readonly InstrumentRecords[], dayMs: number): AuthorActivity {
  const authors = createAuthorActivity(dayMs);
  for (const { mentions = [] } of records) {
    for (const { author, availableAt } of mentions) {
      if (author !== null) authors.add(author, availableAt);
    }
  }
  return authors;
}

/** Context in which message streams are replayed. */
interface Setting {
  readonly grid: ReturnGrid;
  readonly dayMs: number;
  readonly authors: AuthorActivity;
}

function pairsOf(
  { instrument, mentions = [] }: InstrumentRecords,
  row: GridRow,
  { grid, dayMs, authors }: Setting,
) {
  if (mentions.length === 0) return [];
  const halfLifeMs = socialHalfLifeMs(instrument.assetClass, dayMs);
  const stream = createMessageStream({ halfLifeMs, dayMs, authors });
  return grid.sessions.flatMap(({ close }, place) => {
    stream.advance(mentions, close);
    const logReturn = row.returns[place] as number;
    if (stream.newestAt === null || Number.isNaN(logReturn)) return [];
    const { counters } = stream.sentimentAt(close);
    if (counters.total < MIN_WEIGHT) return [];
    return [{ place, sentiment: sentimentMeasures(counters).value, logReturn }];
  });
}
