import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MESSAGE_WEIGHT_RULES } from "../../../../src/messages/message-weight.ts";
import {
  decodeEntities,
  messageObservations,
  messageText,
  pseudonym,
} from "../../../../src/sources/live/message.ts";

const AT = Date.parse("2026-11-20T15:00:00Z");
const MESSAGE = {
  id: "1",
  at: AT,
  text: "up",
  author: null,
  followers: null,
  symbolCount: 2,
  stance: null,
};

describe("a message from a social platform", () => {
  it("is stored under each instrument, dated when it was written", () => {
    const { data, rejected } = messageObservations(MESSAGE, ["AAPL", "MSFT"], AT + 1);
    const { at, ...mention } = MESSAGE;
    const record = { ...mention, availableAt: at };
    expect(data).toEqual([
      { feed: "mentions", symbol: "AAPL", at, id: "1", record },
      { feed: "mentions", symbol: "MSFT", at, id: "1", record },
    ]);
    expect(rejected).toEqual([]);
  });

  it("is quarantined when it is dated more than five minutes after its arrival", () => {
    expect(messageObservations(MESSAGE, ["AAPL"], AT - 5 * 60_000).rejected).toEqual([]);
    const { data, rejected } = messageObservations(MESSAGE, ["AAPL"], AT - 5 * 60_000 - 1);
    expect(data).toEqual([]);
    expect(rejected).toEqual([
      {
        ...{ feed: "mentions", symbol: "AAPL", at: AT, id: "1" },
        reason: "written at 2026-11-20T15:00:00.000Z, after it came",
      },
    ]);
  });

  it("is skipped when it mentions more instruments than the method allows", () => {
    const named = (symbolCount: number) =>
      messageObservations({ ...MESSAGE, symbolCount }, ["AAPL"], AT);
    expect(named(MESSAGE_WEIGHT_RULES.maxSymbols).data).toHaveLength(1);
    expect(named(MESSAGE_WEIGHT_RULES.maxSymbols + 1)).toEqual({ data: [], rejected: [] });
  });

  it("is cut to 2,000 characters, and has control and bidirectional characters replaced", () => {
    expect(messageText("a\u0000b\u202ec\r\nd")).toBe("a\ufffdb\ufffdc\nd");
    const long = messageText(`${"x".repeat(1_999)}😀`);
    expect(long).toHaveLength(2_000);
    expect(long.isWellFormed()).toBe(true);
  });
});

describe("the decoding of HTML entities in a text", () => {
  it("is done only once", () => {
    expect(decodeEntities("&amp;lt;b&amp;gt; &#39;&#x41;&quot;&apos;&LT;")).toBe(`&lt;b&gt; 'A"'<`);
  });

  it("leaves text that is not an entity unchanged", () => {
    expect(decodeEntities("AT&T &bogus; &#1114112; &#xFFFFFF; &; &#;")).toBe(
      "AT&T &bogus; &#1114112; &#xFFFFFF; &; &#;",
    );
  });

  it("results in well-formed text of limited length for any input", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "<p>",
      "&",
      "&amp;",
      "&#x",
      "&#55296;",
      ";",
      "a",
      "lt;",
    );
    const text = fc.array(piece, { maxLength: 3_000 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, (any) => {
        const kept = messageText(decodeEntities(any));
        expect(kept.isWellFormed()).toBe(true);
        expect(kept.length).toBeLessThanOrEqual(2_000);
      }),
      { numRuns: 200, seed: 8 },
    );
  });
});

describe("the pseudonym of an author", () => {
  it("is the same for the same name, different on another platform, and does not disclose the name", () => {
    expect(pseudonym("bluesky", "did:plc:a")).toBe(pseudonym("bluesky", "did:plc:a"));
    expect(pseudonym("bluesky", "did:plc:a")).not.toBe(pseudonym("stocktwits", "did:plc:a"));
    expect(pseudonym("bluesky", "did:plc:a")).toMatch(/^[0-9a-f]{16}$/);
  });
});
