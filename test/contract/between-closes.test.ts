import { describe, expect, it } from "vitest";
import { getWith, newToken } from "../support/agent.ts";
import { smallMarket } from "../support/small-market.ts";
import { startTestService } from "../support/test-service.ts";

const folder = await smallMarket();

/** Symbol, session, change of the score and return of each instrument that rose, at an instant. */
async function rowsAt(asOf: string) {
  const { base } = await startTestService({ MARKET: `files:${folder}`, AS_OF: asOf });
  const fields = "fields=symbol,session,scoreChange,return";
  const path = `/api/signals?sort=rise&detail=full&${fields}`;
  const answer = await getWith(await newToken(base, {}), `${base}${path}`);
  const { rows } = (await answer.json()) as {
    readonly rows: readonly (readonly [string, string, number, number])[];
  };
  return rows;
}

/** The close of a Friday, which is known a quarter of an hour after 16:00 in New York. */
const CLOSE = "2014-02-21T21:15:00Z";

describe("a list of signals between two closes", () => {
  it.each([
    ["that evening", "2014-02-21T23:30:00Z"],
    ["on the weekend", "2014-02-22T18:00:00Z"],
    ["in the next session, before its close", "2014-02-24T17:00:00Z"],
  ])("shows what the session that closed last changed: %s", async (_, later) => {
    const closed = await rowsAt(CLOSE);
    const found = await rowsAt(later);
    const rowOf = (rows: typeof found, symbol: string) => rows.find(([one]) => one === symbol);
    // The score of the fund rests on prices alone, which are the same until the next close.
    expect(rowOf(found, "FUND")).toEqual(rowOf(closed, "FUND"));
    expect(rowOf(closed, "FUND")).toMatchObject({ 1: "2014-02-21", 2: expect.closeTo(-0.971, 3) });
    expect(rowOf(found, "ACME")?.slice(1, 2)).toEqual(["2014-02-21"]);
    expect(found[0]?.[0]).toBe("ACME");
  });
});
