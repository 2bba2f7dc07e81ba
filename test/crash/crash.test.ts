import { describe, expect, it } from "vitest";
import { archiveFull, diskFull } from "./disk-full.ts";
import { kills } from "./kills.ts";
import { missed } from "./outcome.ts";
import { powerCuts } from "./power-cuts.ts";

/** The scenarios run side by side, and other tests have the processor too. */
const SLACK = 4;

const isWindows = process.platform === "win32";
const note = isWindows ? " (SKIPPED: it needs a shell)" : "";

/** Most that a scenario may take here, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** With `database.test.ts` and `ledger.test.ts`, the short form of `npm run crash`. */
describe.skipIf(isWindows).concurrent(`the embedded store under a storm${note}`, () => {
  it.for([
    ["keeps every promise through kill -9", () => kills(5)],
    ["keeps every promise through a power cut", () => powerCuts(2)],
    ["refuses while the disk is full and heals alone", () => diskFull(2)],
    ["refuses only the archive's rows while only the archive is full", () => archiveFull(2)],
  ] as const)("%s", { timeout: TIMEOUT_MS }, async ([, scenario], { skip }) => {
    const outcome = await scenario();
    if (outcome.skipped !== undefined) skip(outcome.skipped);
    expect(missed(outcome, SLACK)).toEqual([]);
  });
});
