import { expect, it } from "vitest";
import { checkSuccession } from "../../../src/log/verify/succession-check.ts";
import { checkpointText } from "../../../src/tree/checkpoint.ts";

const known = {
  origin: "old.example/log/1",
  keys: ["key"],
  sightings: [5, 9].map((size) => ({ size, root: "", seenAt: 0 })),
};

const lastOf = (origin: string, size: number) =>
  checkpointText({ origin, size, root: Buffer.alloc(32) });

it.each([
  [
    "an earlier end",
    lastOf(known.origin, 7),
    "names 7 entries as its last: 9 were seen, so the last 2 of them were lost or withdrawn",
  ],
  [
    "a later end",
    lastOf(known.origin, 12),
    "names 12 entries as its last: of the 9 that were seen none is missing there",
  ],
  ["another log", lastOf("else.example/log/2", 7), "does not say that it takes its place"],
  ["nothing", undefined, "does not say that it takes its place"],
  ["text that is no checkpoint", "\u001b[2Jproved\n", "does not say that it takes its place"],
])(
  "a log that names %s as the end of the log that was seen fails, and says what is gone",
  (_, replaces, detail) => {
    const check = checkSuccession(known, replaces);
    expect(check).toMatchObject({ name: "history", outcome: "failed" });
    expect(check.detail).toContain(detail);
    expect(check.detail).not.toContain("\u001b");
  },
);
