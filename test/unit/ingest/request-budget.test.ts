import fc from "fast-check";
import { expect, it } from "vitest";
import {
  mustRecordBeforeSending,
  nextSendAt,
  withSentRequest,
} from "../../../src/ingest/poller-state.ts";

it("the request budget is never exceeded in any window, and never delays a request longer than necessary", () => {
  const budgets = fc.record({
    requests: fc.integer({ min: 1, max: 8 }),
    perMs: fc.integer({ min: 1, max: 1_000 }),
  });
  const pauses = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(budgets, pauses, (budget, waits) => {
      let now = 0;
      let sentAt: readonly number[] = [];
      const all: number[] = [];
      for (const wait of waits) {
        now = Math.max(now + wait, nextSendAt(sentAt, budget));
        sentAt = withSentRequest(sentAt, budget, now);
        all.push(now);
      }
      for (const [index, at] of all.entries()) {
        const within = all.filter((other) => other <= at && other > at - budget.perMs);
        expect(within.length).toBeLessThanOrEqual(budget.requests);
        const isDelayed = at > (all[index - 1] ?? 0) + (waits[index] ?? 0);
        if (isDelayed) expect(all[index - budget.requests]).toBe(at - budget.perMs);
      }
    }),
    { seed: 8, numRuns: 300 },
  );
});

it("the request count is saved before a request when the budget's window is long enough to outlast a restart", () => {
  const notedFirst = (perMs: number) => mustRecordBeforeSending({ requests: 100, perMs });
  expect([1_000, 6_000, 60_000, 3_600_000].map(notedFirst)).toEqual([false, false, true, true]);
});
