import { expect, it } from "vitest";
import { missed } from "../crash/outcome.ts";
import { rollingRestarts } from "../crash/rolling-restart.ts";

/** The short form of `npm run crash -- --only rolling-restarts`. */
it("a process is replaced while many call, and no request fails", {
  timeout: 120_000,
}, async ({ skip }) => {
  const outcome = await rollingRestarts(2);
  if (outcome.skipped !== undefined) skip(outcome.skipped);
  expect(missed(outcome)).toEqual([]);
});
