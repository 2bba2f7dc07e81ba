import { describe, expect, it } from "vitest";
import {
  ApplicationFields,
  InquiryFields,
} from "../../../../src/principals/applications/fields.ts";

const application = { name: "Ada", email: "ada@host.example" };
const inquiry = { email: "ada@host.example", message: "Hello" };

describe("the fields of an application for access", () => {
  it.each([
    ["Ada Lovelace"],
    ["O'Neil & Sons, Ltd."],
    ["Booking.com B.V."],
    ["J. R. R. Tolkien"],
    ["\u0645\u062d\u0645\u062f"],
    ["7"],
    ["A <3 B"],
    ["Ada>"],
  ])("accept the name %s", (name) => {
    expect(ApplicationFields.parse({ ...application, name })).toEqual({ ...application, name });
  });

  it.each([
    ["a tag", "<b>Ada</b>"],
    ["the beginning of a tag", "A<B"],
    ["the end of a tag", "A</b>"],
    ["a comment", "A<!--"],
    ["an https URL", "Ada https://evil.example"],
    ["a javascript URL", "javascript://%0aalert(1)"],
    ["a host that begins with www", "Ada WWW.evil.example"],
    ["a host with a path", "Ada evil.example/free"],
  ])("reject a name with %s", (_what, name) => {
    expect(ApplicationFields.safeParse({ ...application, name }).success).toBe(false);
  });

  it("exclude unknown members", () => {
    const more = JSON.parse('{"isAdmin":true,"state":"accepted","__proto__":{"focus":"fund"}}');
    const parsed = ApplicationFields.parse({ ...more, ...application });
    expect(parsed).toEqual(application);
    expect(parsed.focus).toBeUndefined();
  });

  it.each([[null], [""], ["hedge"], ["Quant"], [["quant"]], [0]])(
    "reject the focus %j",
    (focus) => {
      expect(ApplicationFields.safeParse({ ...application, focus }).success).toBe(false);
    },
  );
});

describe("the fields of an inquiry", () => {
  it.each([
    ["  two\r\nlines\n", "two\nlines"],
    ["A <3 B, and 1 < z <= 2 -> 3", "A <3 B, and 1 < z <= 2 -> 3"],
    ["See https://host.example/?a=1&b=2", "See https://host.example/?a=1&b=2"],
    ["Ame\u0301lie", "Am\u00e9lie"],
    ["a".repeat(5000), "a".repeat(5000)],
  ])("are normalized: %j", (message, kept) => {
    expect(InquiryFields.parse({ ...inquiry, message }).message).toBe(kept);
  });

  it.each([
    ["an empty text", ""],
    ["only white space", " \r\n\t "],
    ["a NUL character", "a\0"],
    ["an escape sequence", "a\u001b[31mb"],
    ["a carriage return alone", "a\rb"],
    ["a bidirectional override", "a\u202eb"],
    ["half a surrogate pair", "\udc00a"],
    ["5,001 characters", "a".repeat(5001)],
    ["a script", "<script>alert(1)</script>"],
    ["an unclosed image tag", "Hello <img src=x onerror=alert(1) "],
    ["a number", 1],
    ["an object", {}],
  ])("reject a message that is or contains %s", (_what, message) => {
    expect(InquiryFields.safeParse({ ...inquiry, message }).success).toBe(false);
  });
});
