import { expect, it } from "vitest";
import { databaseOutage } from "../crash/database-outage.ts";
import { missed } from "../crash/outcome.ts";

/** The short form of `npm run crash -- --only database-outage`. */
it("the database falls silent: what needs it is refused in time, and all heals alone", {
  timeout: 120_000,
}, async ({ skip }) => {
  const outcome = await databaseOutage(8);
  if (outcome.skipped !== undefined) skip(outcome.skipped);
  // Other tests have the processor too.
  expect(missed(outcome, 2)).toEqual([]);
});
