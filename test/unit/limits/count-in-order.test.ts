import { describe, expect, it } from "vitest";
import { countAgainstQuotasInOrder } from "../../../src/limits/count-in-order.ts";
import { createLimits } from "../../../src/limits/memory-limits.ts";

describe("counting in order", () => {
  it("stops at the first quota that is exceeded", async () => {
    const limits = createLimits({
      overrides: {
        "code-address": { points: 1, windowSeconds: 60 },
        "code-email": { points: 5, windowSeconds: 60 },
      },
    });
    const send = (email: string) =>
      countAgainstQuotasInOrder(limits, [
        ["code-address", "198.51.100.1"],
        ["code-email", email],
      ]);
    expect(await send("one@example.com")).toMatchObject([
      { quota: "code-address", isExceeded: false },
      { quota: "code-email", points: 4 },
    ]);
    expect(await send("two@example.com")).toMatchObject([
      { quota: "code-address", isExceeded: true },
    ]);
    expect(await limits.peek("code-email", "two@example.com")).toMatchObject({ points: 5 });
  });
});
