import { describe, expect, it } from "vitest";
import { COUNTER, createLedger, type Tally } from "./ledger.ts";
import type { Attempt, Ending, Seen, Standing } from "./reports.ts";

const emptied: readonly (readonly [string, Seen])[] = [];

function trying(effects: readonly Standing[], more: Partial<Attempt> = {}): Attempt {
  return { is: "try", lane: "0.0", at: 5, found: [], effects, expects: "held", ...more };
}

const ended = (is: Ending["is"], lane = "0.0"): Ending => ({
  is,
  lane,
  ...(is === "refused" && { code: "store_unavailable" }),
});

/**
 * Compares the given reports with the given contents.
 *
 * @returns The faults in the tally, without zeros.
 */
function found(
  reports: readonly (Attempt | Ending)[],
  contents: readonly (readonly [string, Seen])[],
): Partial<Tally> {
  const ledger = createLedger();
  for (const report of reports) ledger.note(report);
  ledger.settle(new Map(contents));
  const wrong = Object.entries(ledger.tally).filter(
    ([name, count]) => !["acknowledged", "refused"].includes(name) && count > 0,
  );
  return Object.fromEntries(wrong);
}

describe("the write ledger of the crash harness", () => {
  const pair: readonly Standing[] = [
    ["slot/a", "m1"],
    ["slot/b", "m1"],
  ];

  it("reports nothing when the store contains every acknowledged write", () => {
    expect(found([trying(pair), ended("held")], pair)).toEqual({});
  });

  it("reports a lost acknowledged write", () => {
    expect(found([trying(pair), ended("held")], [["slot/a", "m1"]])).toEqual({ lost: 1 });
  });

  it("reports an acknowledged value as lost when the store has an older value instead", () => {
    const writes = [trying([["slot/a", "m1"]]), ended("held"), trying([["slot/a", "m2"]])];
    expect(found([...writes, ended("held")], [["slot/a", "m1"]])).toEqual({ lost: 1 });
  });

  it("reports a removed record that reappears", () => {
    const removal = [trying(pair), ended("held"), trying([["slot/a", null]]), ended("held")];
    expect(found(removal, pair)).toEqual({ lost: 1 });
  });

  it("reports a value that was only partly written", () => {
    expect(found([trying([["slot/a", "m1"]]), ended("held")], [["slot/a", "torn {}"]])).toEqual({
      lost: 1,
    });
  });

  it.each([[emptied], [pair]])(
    "accepts an unacknowledged commit whether or not it was applied: %j",
    (contents) => {
      expect(found([trying(pair)], contents)).toEqual({});
    },
  );

  it("reports a partly applied, unacknowledged commit", () => {
    expect(found([trying(pair)], [["slot/b", "m1"]])).toEqual({ half: 1 });
  });

  it("reports a counter that rose although its record is missing", () => {
    expect(found([], [[COUNTER, "1"]])).toEqual({ half: 1 });
  });

  it("reports a rejected write that is found in the store", () => {
    expect(found([trying(pair), ended("refused")], pair)).toEqual({ refusedVisible: 2 });
  });

  it("counts a rejected write that is found in the store as uncertain if it began before the database stopped answering", () => {
    const ledger = createLedger();
    ledger.note(trying(pair, { at: 7 }));
    ledger.silence(8);
    ledger.note(ended("refused"));
    ledger.settle(new Map(pair));
    expect(ledger.tally).toMatchObject({ refusedVisible: 0, uncertain: 2 });
  });

  it("reports a rejected write that is found in the store if it began after the database stopped answering", () => {
    const ledger = createLedger();
    ledger.note(trying(pair, { at: 8 }));
    ledger.silence(8);
    ledger.note(ended("refused"));
    ledger.settle(new Map(pair));
    expect(ledger.tally).toMatchObject({ refusedVisible: 2, uncertain: 0 });
  });

  it("reports a write that is found in the store although the condition of its commit failed", () => {
    const reports = [trying(pair, { expects: "not held" }), ended("not held")];
    expect(found(reports, [["slot/a", "m1"]])).toEqual({ refusedVisible: 1 });
  });

  it("reports a rejected write that the writer's next read returns", () => {
    const next = trying([["slot/a", null]], { found: [["slot/a", "m1"]] });
    const reports = [trying([["slot/a", "m1"]]), ended("refused"), next, ended("held")];
    expect(found(reports, emptied)).toEqual({ refusedVisible: 1 });
  });

  it("reports a commit that was applied although its condition cannot have been met", () => {
    expect(found([trying([], { expects: "not held" }), ended("held")], emptied)).toEqual({
      wrong: 1,
    });
  });

  it("reports a commit that was not applied although its condition must have been met", () => {
    expect(found([trying([]), ended("not held")], emptied)).toEqual({ wrong: 1 });
  });

  it("reports a key that two writers acquired although only one can", () => {
    const [first, second] = ["0.0", "0.1"].map((lane) =>
      trying([["won/0", lane]], { lane, expects: "either" }),
    ) as [Attempt, Attempt];
    const contents: readonly (readonly [string, Seen])[] = [
      ["won/0", "0.1"],
      [COUNTER, "1"],
    ];
    const reports = [first, second, ended("held"), ended("held", "0.1")];
    expect(found(reports, contents)).toEqual({ wrong: 1 });
  });

  it("reports a rejection other than store_unavailable", () => {
    const reports = [trying([]), { is: "refused", lane: "0.0", code: "Error: disk" } as const];
    expect(found(reports, emptied)).toEqual({ strange: 1 });
  });
});
