import { describe, expect, it } from "vitest";
import {
  isValidClaimCode,
  newClaimCode,
  toStoredClaimCode,
} from "../../../../src/principals/agents/claim-code.ts";

const AGENT = "agt_1";
const kept = toStoredClaimCode({ agentId: AGENT, code: "A0B1C2D3" });
const isIt = (code: string, agentId = AGENT) => isValidClaimCode(kept, { agentId, code });

describe("a claim code", () => {
  it("has 8 equally likely characters of Crockford's base32", () => {
    const codes = Array.from({ length: 20_000 }, newClaimCode);
    const counts = new Map<string, number>();
    for (const code of codes) {
      expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
      for (const character of code) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect(counts.size).toBe(32);
    // The expected count is 5,000 for each character, and 700 is about ten standard deviations.
    for (const count of counts.values()) expect(Math.abs(count - 5000)).toBeLessThan(700);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it.each(["A0B1C2D3", "a0b1c2d3", "AOBIC2D3", "aobLc2d3", " A0B1-c2d3\n", "A 0 B 1 C 2 D 3"])(
    "is accepted when it is entered as %j",
    (code) => expect(isIt(code)).toBe(true),
  );

  it.each(["", "A0B1C2D", "A0B1C2D33", "A0B1C2D4", "A0B1C2D3\0", "Ａ0B1C2D3"])(
    "is rejected when it is entered as %j",
    (code) => expect(isIt(code)).toBe(false),
  );

  it("is not valid for another agent or an unknown agent", () => {
    expect(isIt("A0B1C2D3", "agt_2")).toBe(false);
    expect(isValidClaimCode(undefined, { agentId: "", code: "" })).toBe(false);
  });

  it("is stored as a hash", () => {
    expect(JSON.stringify(kept)).not.toContain("A0B1C2D3");
    expect(kept.hash).toHaveLength(43);
  });

  it("is valid until the fifth wrong attempt has been made", () => {
    expect(isValidClaimCode({ ...kept, tries: 4 }, { agentId: AGENT, code: "A0B1C2D3" })).toBe(
      true,
    );
    expect(isValidClaimCode({ ...kept, tries: 5 }, { agentId: AGENT, code: "A0B1C2D3" })).toBe(
      false,
    );
  });
});
