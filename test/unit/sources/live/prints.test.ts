import { expect, it } from "vitest";
import { ProviderFault } from "../../../../src/sources/live/fault.ts";
import { printSeries } from "../../../../src/sources/live/prints.ts";

const NOW = Date.UTC(2026, 10, 25, 12);

/**
 * Polls a symbol like the poller does, with a fault on each lost page. @returns The requested
 * paths.
 */
function followed(isLost: (session: string, page: string | undefined) => boolean) {
  const asked: string[] = [];
  const series = printSeries(
    { key: "AAA", symbol: "AAA", historyFrom: Date.UTC(2026, 10, 20, 12) },
    ({ session, page }) => ({
      request: { path: `${session} ${page ?? "first"}` },
      read() {
        if (isLost(session, page)) throw new ProviderFault("malformed", "the page is gone");
        return { prints: [], ...(page === undefined && { next: "second" }) };
      },
    }),
  );
  let cursor: string | undefined;
  for (let failures = 0; asked.length < 100; ) {
    const step = series.next(cursor, NOW, failures);
    if ("waitUntil" in step) return asked;
    asked.push(step.request.path);
    try {
      const answer = { status: 200, header: () => undefined, body: Buffer.alloc(0) };
      ({ cursor } = step.read({ ...answer, receivedAt: NOW }));
      failures = 0;
    } catch {
      failures += 1;
    }
  }
  throw new Error("it never ends");
}

const count = (asked: readonly string[], path: string) =>
  asked.filter((one) => one === path).length;

it("a session whose page tokens keep expiring is read from the start three more times, then skipped", () => {
  const asked = followed((session, page) => session === "2026-11-23" && page === "second");
  expect(count(asked, "2026-11-23 first")).toBe(4);
  expect(count(asked, "2026-11-23 second")).toBe(20);
  expect(asked.slice(-2)).toEqual(["2026-11-24 first", "2026-11-24 second"]);
});

it("a session whose page token expires once is read to its end", () => {
  let lost = 0;
  const asked = followed((_, page) => page === "second" && lost++ < 5);
  expect(count(asked, "2026-11-20 first")).toBe(2);
  expect(count(asked, "2026-11-20 second")).toBe(6);
  expect(count(asked, "2026-11-23 first")).toBe(1);
});
