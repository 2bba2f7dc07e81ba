import { expect, it } from "vitest";
import { extractSourceTerms } from "../../../src/tool/alert.ts";

const BARS = { id: "bars", name: "Bars", terms: "Ours.", simulated: false };
const NEWS = { id: "news", name: "News", terms: "Theirs.", simulated: true };

it("the terms of use of each source are moved from the events to one shared list, and the events are otherwise unchanged", () => {
  const event = (id: string, data: object) => ({
    ...{ id, type: "signal.shift", timestamp: "2026-11-21T05:00:00.000Z" },
    data: { alertId: "alert_1", ...data },
  });
  const { terms: _, ...bars } = BARS;
  const { terms: __, ...news } = NEWS;
  const test = event("3", { type: "alert.test" });
  expect(
    extractSourceTerms([
      event("1", { sources: [BARS], score: 70 }),
      event("2", { sources: [BARS, NEWS] }),
      test,
    ]),
  ).toEqual({
    events: [
      event("1", { sources: [bars], score: 70 }),
      event("2", { sources: [bars, news] }),
      test,
    ],
    terms: { bars: "Ours.", news: "Theirs." },
  });
});
