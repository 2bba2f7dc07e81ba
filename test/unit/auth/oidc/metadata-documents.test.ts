import { expect, it } from "vitest";
import { createLimitedFetch } from "../../../../src/auth/oidc/metadata-documents.ts";
import { concurrencyClasses } from "../../../../src/limits/classes.ts";
import { createLimits } from "../../../../src/limits/limits.ts";
import { looseNumbers } from "../../../support/limits.ts";

const { network: most } = concurrencyClasses.fetches;

it("no more documents are fetched for a network than its number, however many are asked for at once", async () => {
  const { promise: end, resolve: answer } = Promise.withResolvers<void>();
  const started: string[] = [];
  const fetchSlowly: typeof fetch = async (input) => {
    started.push(String(input));
    await end;
    return new Response("{}");
  };
  const fetchLimited = createLimitedFetch(fetchSlowly, createLimits({ overrides: looseNumbers }));
  const asked = Array.from({ length: 3 * most }, (_, at) =>
    fetchLimited(`https://app-${at}.example/client.json`).then(
      () => "fetched",
      ({ code }) => code,
    ),
  );
  await expect.poll(() => started.length).toBe(most);
  answer();
  const outcomes = await Promise.all(asked);
  expect(started).toHaveLength(most);
  expect(outcomes.filter((outcome) => outcome === "rate_limited")).toHaveLength(2 * most);
  await expect(fetchLimited("https://later.example/client.json")).resolves.toBeInstanceOf(Response);
});
