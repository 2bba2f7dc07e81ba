// @module-tag full

import fc from "fast-check";
import { expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { forSdk, meaningOf, oddMessages, sendOddMessage } from "../support/mcp-odd.ts";
import { startTestService } from "../support/test-service.ts";

const { base, logged } = await startTestService();
const tokens = { fast: await newToken(base), slow: await newToken(base) };

/**
 * Whether the SDK's own handler produced the answer: unlike the fast path it uses chunked encoding.
 */
const isOfSdk = (headers: object) => "transfer-encoding" in headers;

it("the MCP endpoint answers every malformed message the same on the fast and the slow path", async () => {
  const seen = { fast: 0, slow: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(oddMessages, async (odd) => {
      const [one, other] = await Promise.all([
        sendOddMessage(base, tokens.fast, odd),
        sendOddMessage(base, tokens.slow, forSdk(odd)),
      ]);
      expect(meaningOf(one, base)).toEqual(meaningOf(other, base));
      if (!isOfSdk(other.headers)) seen.refused++;
      else seen[isOfSdk(one.headers) ? "slow" : "fast"]++;
    }),
    { seed: 9, numRuns: 1_500 },
  );
  expect(seen.fast).toBeGreaterThan(300);
  expect(seen.slow).toBeGreaterThan(300);
  expect(seen.refused).toBeGreaterThan(5);
  expect(logged).toEqual([]);
});
