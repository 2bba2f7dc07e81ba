import { expect, it } from "vitest";
import { leaderFailover } from "../crash/leader-failover.ts";
import { missed } from "../crash/outcome.ts";

/** The short form of `npm run crash -- --only leader-failover`. */
it("the leader is killed while alerts fire: another leads, and each event is told once", {
  timeout: 180_000,
}, async ({ skip }) => {
  const outcome = await leaderFailover({ untilDelivered: false });
  if (outcome.skipped !== undefined) skip(outcome.skipped);
  // Other tests have the processor too.
  expect(missed(outcome, 2)).toEqual([]);
});
