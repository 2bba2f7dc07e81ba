import { expect, it } from "vitest";
import {
  type AnswerContext,
  instrumentAnswerMembers,
} from "../../../src/answers/shared-members.ts";
import { BarFilter } from "../../../src/market/bar-quality.ts";
import { withLogReturn } from "../../../src/market/bar-return.ts";
import type { Bar, InstrumentRecords } from "../../../src/market/records.ts";
import type { PastSnapshot } from "../../../src/score/snapshot.ts";
import { driftingMarket } from "../research/drifting-market.ts";

const market = driftingMarket({ names: 2, days: 600, drift: 0.001 });
const [clean] = market.recordsUntil(0) as readonly [InstrumentRecords, ...InstrumentRecords[]];

/** Returns the instrument with the highs of the bars at `places` multiplied by a million. */
function spoiled(places: readonly number[]): InstrumentRecords {
  const filter = new BarFilter();
  const bars: Bar[] = [];
  for (const [place, { logReturn: _, ...bar }] of [...clean.bars].entries()) {
    const high = places.includes(place) ? bar.high * 1e6 : bar.high;
    for (const one of filter.add({ ...bar, high }))
      bars.push(withLogReturn(one, bars.at(-1)?.close));
  }
  return { ...clean, bars, doubtedBars: filter.doubts };
}

const records = spoiled([40, 300]);
const origin = { market: { ...market, records: () => records } } satisfies AnswerContext;
const atBar = (place: number) => clean.bars.at(place) as Bar;
const answerAt = (at: number) =>
  instrumentAnswerMembers(origin, {
    instrument: clean.instrument,
    at,
    status: "ok",
  } as PastSnapshot);

it("an answer lists a suspect bar as soon as the bar is held back, and later adds the outcome", () => {
  const { session, availableAt } = atBar(300);
  expect(answerAt(availableAt - 1)).not.toHaveProperty("quality.1");
  expect(answerAt(availableAt).quality?.[0]).toMatchObject({
    session,
    fault: "spike",
    outcome: "held",
  });
  const settled = answerAt(atBar(301).availableAt).quality ?? [];
  expect(settled[0]).toMatchObject({ session, outcome: "dropped" });
  expect(settled[0]?.detail).toMatch(/^the high \d+(\.\d+)? is too far from the /);
});

it("an answer lists suspect bars only among the last 252 bars, and otherwise omits the quality member", () => {
  const sessions = (place: number) =>
    (answerAt(atBar(place).availableAt).quality ?? []).map((one) => one.session);
  expect(sessions(39)).toEqual([]);
  expect(answerAt(atBar(39).availableAt)).not.toHaveProperty("quality");
  expect(sessions(290)).toEqual([atBar(40).session]);
  expect(sessions(310)).toEqual([atBar(300).session]);
});
