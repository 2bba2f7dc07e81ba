import { describe, expect, it } from "vitest";
import { restarts, revocation, swallowed } from "./database.ts";
import { missed } from "./outcome.ts";

/** The scenarios run side by side, and other tests have the processor too. */
const SLACK = 4;

/** Most that a scenario may take here, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** With `crash.test.ts`, the short form of `npm run crash`. */
describe.concurrent("PostgreSQL under a storm", () => {
  it.for([
    ["keeps every promise through a restart", restarts],
    ["refuses in time while nothing answers, and heals alone", () => swallowed(4)],
    ["removes a record for every process at once", revocation],
  ] as const)("%s", { timeout: TIMEOUT_MS }, async ([, scenario], { skip }) => {
    const outcome = await scenario();
    if (outcome.skipped !== undefined) skip(outcome.skipped);
    expect(missed(outcome, SLACK)).toEqual([]);
  });
});
