import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { networksToReserve, refusingLevel } from "../../../src/limits/admission.ts";
import {
  FEWEST_NETWORKS,
  type HoldingClass,
  limitNumbers,
  type RateClass,
  rateClasses,
} from "../../../src/limits/classes.ts";
import { limitsDocument } from "../../../src/limits/document.ts";
import { formerNames } from "../../../src/limits/former-names.ts";

const FILE = new URL("../../../docs/limits.md", import.meta.url);

const texts = { counts: "x", by: "x", because: "x" };

describe("the classes of limits", () => {
  it("do not compile without a number for the network or for the total", () => {
    const rate: RateClass = { ...texts, caller: 1, network: 1, total: 1, seconds: 1 };
    // @ts-expect-error The network is missing.
    const withoutNetwork: RateClass = { ...texts, caller: 1, total: 1, seconds: 1 };
    // @ts-expect-error The total is missing.
    const withoutTotal: RateClass = { ...texts, caller: 1, network: 1, seconds: 1 };
    // @ts-expect-error The network is missing.
    const holdingWithoutNetwork: HoldingClass = { ...texts, caller: 1, total: 1 };
    // @ts-expect-error The total is missing.
    const holdingWithoutTotal: HoldingClass = { ...texts, caller: 1, network: 1 };
    const refused = [withoutNetwork, withoutTotal, holdingWithoutNetwork, holdingWithoutTotal];
    expect([rate, ...refused]).toHaveLength(5);
  });

  it("allow a caller no more than its network, and a network no more than all", () => {
    for (const [name, { caller, network, total }] of Object.entries(limitNumbers)) {
      expect([name, caller <= network, network <= total]).toEqual([name, true, true]);
    }
  });

  it.each(Object.entries(limitNumbers))(
    "leave four fifths of %s to share unless 40 networks use up theirs, or say why",
    (name, most) => {
      const rate: RateClass | undefined = Object.entries<RateClass>(rateClasses).find(
        ([each]) => each === name,
      )?.[1];
      expect(networksToReserve(most) < FEWEST_NETWORKS).toBe(rate?.fewNetworks !== undefined);
      expect(rate?.fewNetworks === undefined || rate.per === "mailbox or chat").toBe(true);
      // Just before the last of these networks, another one is admitted as often as it likes.
      const flood = (networksToReserve(most) - 1) * most.network;
      const used = { caller: 0, network: 1, total: flood };
      expect(refusingLevel({ ...most, network: 2, caller: 2 }, used)).toBeUndefined();
    },
  );

  it("stand in docs/limits.md as they are defined in the code", () => {
    if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, limitsDocument());
    expect(readFileSync(FILE, "utf8")).toBe(limitsDocument());
  });

  it("replace every former limit, in a window as long where the number is taken over", () => {
    for (const [, [name, level]] of Object.entries(formerNames)) {
      expect(Object.keys(limitNumbers)).toContain(name);
      if (level !== undefined) expect(Object.keys(rateClasses)).toContain(name);
    }
  });
});
