import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import {
  differences,
  marketOf,
  risksAt,
  scoredAt,
  withAnotherFuture,
  withoutFuture,
} from "./markets.ts";

const DAY_MS = 60_000;
/** The first tested instant of the simulated market, and the number of later days in its data. */
const START = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS;
const DAYS_AFTER = 60;

const sandbox = createSandbox({ seed: 7, sessionSeconds: DAY_MS / 1000 });
const all = sandbox.recordsUntil(START + DAYS_AFTER * DAY_MS);

/** Instants at a close, just before it, just after it, and within sessions. */
const instants = [0, -1, 1, DAY_MS * 3.25, DAY_MS * 11.75].map((offset) => START + offset);

describe("a score at a past instant", () => {
  const expectNoLookahead = (at: number) => {
    const origin = START - 5 * DAY_MS;
    const scored = (records: typeof all, later?: number) =>
      scoredAt(marketOf(sandbox, records, origin), at, later);
    const known = scored(all.map((one) => withoutFuture(one, at)));
    expect(known.newest.size).toBeGreaterThan(40);
    expect(differences(scored(all), known)).toEqual([]);
    const another = all.map((one) => withAnotherFuture(one, at, DAY_MS));
    expect(differences(scored(another, at + 9 * DAY_MS), known)).toEqual([]);
  };

  it("does not depend on data after its close, for 48 instruments", () => {
    expectNoLookahead(START);
  });

  it.each(instants.slice(1))(
    "does not depend on data after the Unix time %i ms, for 48 instruments",
    { tags: ["full"] },
    expectNoLookahead,
  );

  it.each(instants)(
    "has a risk forecast that does not depend on data after the Unix time %i ms",
    (at) => {
      const known = risksAt(
        all.map((one) => withoutFuture(one, at)),
        at,
      );
      expect(known.outlooks.filter((one) => one !== undefined).length).toBe(40);
      expect(differences(risksAt(all, at), known)).toEqual([]);
      const another = all.map((one) => withAnotherFuture(one, at, DAY_MS));
      expect(differences(risksAt(another, at), known)).toEqual([]);
    },
  );

  it("changes when data that was known at that instant is changed", () => {
    const at = START;
    const origin = START - 2 * DAY_MS;
    const honest = scoredAt(marketOf(sandbox, all, origin), at).newest;
    const earlier = all.map((one) => withAnotherFuture(one, at - 20 * DAY_MS, DAY_MS));
    const other = scoredAt(marketOf(sandbox, earlier, origin), at).newest;
    // The place of a stock among 40 can stay the same where its evidence changed.
    const evidenceOf = (one: Snapshot | undefined) => one?.ranking?.z ?? one?.score;
    const changed = [...honest].filter(
      ([symbol, one]) => evidenceOf(other.get(symbol)) !== evidenceOf(one),
    );
    expect(changed.length).toBeGreaterThan(40);
  });
});
