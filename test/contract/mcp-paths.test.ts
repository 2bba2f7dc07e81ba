// @module-tag full

import fc from "fast-check";
import { expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { meaningOf, oddMessages, sendOddMessage } from "../support/mcp-odd.ts";
import { startTestService } from "../support/test-service.ts";

const fast = await startTestService({ MCP_FAST_PATH: "1" });
const slow = await startTestService({ MCP_FAST_PATH: "0" });
const tokens = { fast: await newToken(fast.base), slow: await newToken(slow.base) };

/**
 * Whether the SDK's own handler produced the answer: unlike the fast path it uses chunked encoding.
 */
const isOfSdk = (headers: object) => "transfer-encoding" in headers;

it("the MCP endpoint answers every malformed message the same on the fast and the slow path", async () => {
  const seen = { fast: 0, slow: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(oddMessages, async (odd) => {
      const [one, other] = await Promise.all([
        sendOddMessage(fast.base, tokens.fast, odd),
        sendOddMessage(slow.base, tokens.slow, odd),
      ]);
      expect(meaningOf(one, fast.base)).toEqual(meaningOf(other, slow.base));
      if (!isOfSdk(other.headers)) seen.refused++;
      else seen[isOfSdk(one.headers) ? "slow" : "fast"]++;
    }),
    { seed: 9, numRuns: 1_500 },
  );
  expect(seen.fast).toBeGreaterThan(300);
  expect(seen.slow).toBeGreaterThan(300);
  expect(seen.refused).toBeGreaterThan(5);
  expect([...fast.logged, ...slow.logged]).toEqual([]);
});
