import { expect, it } from "vitest";
import { RECORD_CONTENT_WRITERS } from "../../../src/market/record-content.ts";
import { readMentions } from "../../../src/sources/files/mentions.ts";

const line = (id: string, author: string | null) =>
  JSON.stringify({ id, at: "2026-11-20T15:00:00Z", text: "up", symbols: ["AAPL"], author });

const read = (...lines: readonly string[]) =>
  readMentions({ path: "messages.jsonl", content: lines.join("\n") });

it("messages with the same content hash have the same author", () => {
  const authorOf = (author: string | null) => read(line("1", author))[0]?.author;
  const hashed = (author: string | null) => {
    const [mention] = read(line("1", author));
    const bytes: string[] = [];
    const to = {
      number: (value: number) => bytes.push(String(value)),
      text: (value: string) => bytes.push(Buffer.from(value).toString("hex")),
    };
    if (mention !== undefined) RECORD_CONTENT_WRITERS.mentions(mention, to);
    return bytes.join();
  };
  for (const [one, other] of [
    [null, ""],
    ["a\ud800", "a\udc00"],
  ] as const) {
    expect(hashed(one)).toBe(hashed(other));
    expect(authorOf(one)).toBe(authorOf(other));
  }
  expect(authorOf("")).toBeNull();
  expect(authorOf("a \u{1f600}")).toBe("a \u{1f600}");
});

it("ids that differ only in half of a surrogate pair are treated as duplicates", () => {
  expect(() => read(line("\ud800", "a"), line("\udc00", "b"))).toThrow(/messages\.jsonl:2/);
});
