import { describe, expect, it } from "vitest";
import {
  errorSummary,
  lastUseText,
  timeElement,
  untrustedHost,
  untrustedText,
  unverifiedName,
  unverifiedTitle,
} from "../../../../src/http/pages/elements.ts";

describe("untrusted text on a page", () => {
  it("is isolated from the surrounding text direction", () => {
    expect(untrustedText("שלום").toString()).toBe('<bdi class="untrusted">שלום</bdi>');
    expect(untrustedText("<b>").toString()).toBe('<bdi class="untrusted">&lt;b&gt;</bdi>');
  });

  it("is truncated after 100 characters, with an ellipsis", () => {
    expect(untrustedText("x".repeat(100)).toString()).toContain(`>${"x".repeat(100)}<`);
    expect(untrustedText("😀".repeat(101)).toString()).toContain(`>${"😀".repeat(100)}…<`);
  });

  it("is shown in full when it is a host or a URL", () => {
    const host = `${"a.".repeat(120)}evil.example`;
    const address = `https://${host}/${"x".repeat(250)}`;
    for (const site of [host, address]) {
      expect(untrustedHost(site).toString()).toBe(`<bdi class="untrusted">${site}</bdi>`);
    }
    const endless = untrustedHost(`${"a.".repeat(4_000)}evil.example`).toString();
    expect(endless).toMatch(/…[a.]+\.evil\.example<\/bdi>$/);
    expect(endless.length).toBeLessThan(600);
    expect(untrustedHost("a\u202Eb").toString()).toContain(">a\uFFFDb<");
  });

  it.each(["\u202E", "\u2066", "\u200F", "\u0007", "\u2028", "\n", "\uD800", "\u061C"])(
    "is shown with a replacement character for %j",
    (trick) => {
      expect(untrustedText(`a${trick}b`).toString()).toContain(">a\uFFFDb<");
    },
  );

  it.each([undefined, "", "  "])("is treated as a missing name when it is %j", (name) => {
    expect(unverifiedName(name).toString()).toContain("no name given");
    expect(unverifiedTitle("Agent", name).toString()).toBe("Agent without a name");
  });

  it("is labeled as unverified when it is a name that the client chose", () => {
    const shown = unverifiedName("Verified Bank").toString();
    expect(shown).toMatch(
      /^calls itself “<bdi[^>]*>Verified Bank<\/bdi>” <span[^>]*>not verified</,
    );
    expect(unverifiedTitle("Agent", "Bank").toString()).toContain("not verified");
  });
});

describe("a timestamp on a page", () => {
  it("is shown in UTC, with a machine-readable time", () => {
    expect(timeElement(Date.UTC(2026, 0, 2, 3, 4, 5)).toString()).toBe(
      '<time datetime="2026-01-02T03:04:05.000Z">2 January 2026, 03:04 UTC</time>',
    );
  });
});

describe("the time of the last use", () => {
  it("is stored only to the hour, but is never shown as earlier than the creation time", () => {
    const [hour, madeAt] = [Date.UTC(2026, 10, 21, 5), Date.UTC(2026, 10, 21, 5, 40)];
    expect(String(lastUseText(hour, madeAt))).toContain("05:40 UTC");
    expect(String(lastUseText(hour + 3_600_000, madeAt))).toContain("06:00 UTC");
    expect(String(lastUseText(undefined, madeAt))).toContain("never");
  });
});

describe("a form", () => {
  it("lists its errors first, each with a link to its field", () => {
    expect(errorSummary([])).toBeUndefined();
    const shown = errorSummary([{ id: "scope", text: "Choose." }])?.toString();
    expect(shown).toContain('role="alert"');
    expect(shown).toContain('<a href="#scope">Choose.</a>');
  });
});
