import { describe, expect, it } from "vitest";
import { refusingLevel, reserved } from "../../../src/limits/admission.ts";

const most = { caller: 3, network: 5, total: 10 };

describe("the rule of admission", () => {
  it.each([
    ["admits what nobody has used", { caller: 0, network: 0, total: 0 }, undefined],
    ["admits the last action of a caller", { caller: 2, network: 2, total: 2 }, undefined],
    ["refuses a caller that has used its number", { caller: 3, network: 3, total: 3 }, "caller"],
    ["refuses a network that has used its number", { caller: 0, network: 5, total: 5 }, "network"],
    ["admits a known network up to four fifths", { caller: 0, network: 1, total: 7 }, undefined],
    ["refuses a known network what is reserved", { caller: 0, network: 1, total: 8 }, "total"],
    ["admits a new network to the reserve", { caller: 0, network: 0, total: 9 }, undefined],
    ["refuses a new network when all is used", { caller: 0, network: 0, total: 10 }, "total"],
  ] as const)("%s", (_, used, level) => {
    expect(refusingLevel(most, used)).toBe(level);
  });

  it("reserves a fifth, rounded up", () => {
    expect([0, 1, 4, 5, 6, 20_000].map(reserved)).toEqual([0, 1, 1, 1, 2, 4_000]);
  });
});
