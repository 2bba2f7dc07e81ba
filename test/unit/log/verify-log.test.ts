import { describe, expect, it } from "vitest";
import { verifyLog, verifyProofFile } from "../../../src/log/verify/verify-log.ts";
import { overallOutcome, type VerificationCheck } from "../../../src/tree/check.ts";
import type { KnownLog } from "../../../src/tree/known-log.ts";
import { proofText } from "../../../src/tree/tlog-proof.ts";
import {
  closeOf,
  type Files,
  filesOf,
  forgers,
  honestEntries,
  json,
  type MadeRun,
  ORIGIN,
  pricesOver,
  proofOf,
  randomBelow,
  sourceOf,
  VERIFIER,
} from "../../support/log-forger.ts";

const DAY_MS = 86_400_000;

/** Prices of 20 days, which is longer than most histories in this file. */
const PRICES = pricesOver(20);

const look = (files: Files, known: KnownLog | undefined, at: number, keys = [VERIFIER]) =>
  verifyLog({ source: sourceOf(files), keys, known, prices: PRICES, now: () => at });

const failures = (checks: readonly VerificationCheck[]) =>
  checks.filter(({ outcome }) => outcome === "failed");

const named = (checks: readonly VerificationCheck[]) =>
  Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome]));

/** A log that was verified once after its first sessions, an hour after a close, and then grew. */
async function seenHistory(seed: number) {
  const random = randomBelow(seed);
  const seenDays = 3 + random(2);
  const first = honestEntries(randomBelow(seed), seenDays);
  const entries = honestEntries(randomBelow(seed), seenDays + 1 + random(3));
  const seenAt = closeOf(seenDays - 1) + 3_600_000;
  const { known, checks } = await look(filesOf(first), undefined, seenAt);
  return { random, first, entries, seenAt, known, checks };
}

describe("the log verifier", () => {
  // Each history is verified twice, so 500 seeds give 1,000 verifications.
  const expectHonest = async (thousand: number) => {
    for (let seed = 500 * thousand; seed < 500 * (thousand + 1); seed++) {
      const { entries, known, checks, seenAt } = await seenHistory(seed);
      expect(failures(checks), `history ${seed}`).toEqual([]);
      const again = await look(filesOf(entries), known, seenAt + 9 * DAY_MS);
      expect(failures(again.checks), `history ${seed}, seen before`).toEqual([]);
      expect(named(again.checks).history).toBe("proved");
    }
  };

  it("rejects none of 1,000 honest histories", { tags: ["full"] }, () => expectHonest(0));

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
    "rejects none of 1,000 honest histories in part %i of the nightly run",
    { tags: ["nightly"] },
    expectHonest,
  );

  it("accepts none of 1,000 forgeries, and reports the forged entry of each", {
    tags: ["full"],
  }, async () => {
    const kinds = Object.entries(forgers);
    const accepted: string[] = [];
    const misnamed: string[] = [];
    for (let seed = 0; seed < 1_000; seed++) {
      const [kind, forge] = kinds[seed % kinds.length] as (typeof kinds)[0];
      const { random, first, entries, known, seenAt } = await seenHistory(seed);
      const forgery = forge({ entries, seenSize: first.length, seenAt, random });
      const { checks } = await look(forgery.files, known, seenAt + 9 * DAY_MS);
      const failed = failures(checks);
      if (failed.length === 0) accepted.push(`${kind} ${seed}`);
      const names = failed.map(({ entry }) => entry);
      if (forgery.entry !== undefined && !names.includes(forgery.entry)) {
        misnamed.push(`${kind} ${seed}: ${names} in place of ${forgery.entry}`);
      }
    }
    expect(accepted).toEqual([]);
    expect(misnamed).toEqual([]);
  });

  it("reports as proved only what the available data can prove", async () => {
    const entries = honestEntries(randomBelow(3), 4);
    const first = await look(filesOf(entries), undefined, closeOf(5), []);
    expect(named(first.checks)).toEqual({
      signature: "not_proved",
      witnesses: "not_proved",
      tree: "proved",
      history: "not_proved",
      entries: "proved",
      methods: "proved",
      runs: "proved",
      claims: "proved",
      thresholds: "proved",
      times: "not_proved",
      sessions: "proved",
      settlements: "proved",
      scores: "not_proved",
      outcomes: "proved",
      record: "not_proved",
    });
    expect(overallOutcome(first.checks)).toBe("not_proved");
    const again = await look(filesOf(entries), first.known, closeOf(6), []);
    expect(named(again.checks)).toMatchObject({ signature: "proved", history: "proved" });
  });

  it("proves when entries existed, using earlier verifications that ran between closes", async () => {
    let known: KnownLog | undefined;
    for (let day = 1; day <= 4; day++) {
      const looked = await look(
        filesOf(honestEntries(randomBelow(8), day)),
        known,
        closeOf(day - 1) + 60_000,
      );
      expect(failures(looked.checks)).toEqual([]);
      known = looked.known;
    }
    const { checks } = await look(
      filesOf(honestEntries(randomBelow(8), 5)),
      known,
      closeOf(4) + 60_000,
    );
    const times = checks.find(({ name }) => name === "times");
    expect(Number(/^\d+/.exec(times?.detail ?? "")?.[0])).toBeGreaterThan(2);
  });

  it("detects false entries even if the log's own key has signed them", async () => {
    const honest = honestEntries(randomBelow(1), 3);
    const wrong = (kind: string, change: object) => {
      const at = honest.findIndex((entry) => JSON.parse(entry).kind === kind);
      return { at, entries: honest.with(at, json({ ...JSON.parse(honest[at] ?? ""), ...change })) };
    };
    const cases = [
      ["methods", wrong("run", { methodHash: "another" })],
      ["runs", wrong("run", { results: 40 })],
      ["runs", wrong("run", { universe: 0 })],
      ["runs", wrong("signal", { symbol: "another" })],
      ["runs", wrong("signal", { close: new Date(0).toISOString() })],
      ["thresholds", wrong("signal", { signal: "LONG", scoreSmoothed: 40 })],
      ["thresholds", wrong("signal", { signal: "SHORT", scoreSmoothed: 60 })],
      ["entries", wrong("signal", { run: "first" })],
    ] as const;
    for (const [check, { at, entries }] of cases) {
      const { checks } = await look(filesOf(entries), undefined, closeOf(9));
      expect(failures(checks).map(({ name, entry }) => [name, entry])).toContainEqual([check, at]);
    }
    const spaced = honest.with(0, honest[0]?.replace("{", "{ ") ?? "");
    const { checks } = await look(filesOf(spaced), undefined, closeOf(9));
    expect(failures(checks)[0]).toMatchObject({ name: "entries", entry: 0 });
  });

  it("detects runs without a settlement", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const isSettled = ({ assetClass, day }: MadeRun) => assetClass !== "stock" || day !== 2;
      const entries = honestEntries(randomBelow(seed), 16, { isSettled });
      const stocks = entries.flatMap((entry, at) => {
        const { kind, assetClass } = JSON.parse(entry);
        return kind === "run" && assetClass === "stock" ? [at] : [];
      });
      const waiting = await look(filesOf(entries.slice(0, stocks[15])), undefined, closeOf(16));
      expect(waiting.checks.find(({ name }) => name === "settlements")).toMatchObject({
        outcome: "not_proved",
      });
      // After the entry session and the horizon, late prices are awaited for eleven sessions.
      const overdue = honestEntries(randomBelow(seed), 17, { isSettled });
      const { checks } = await look(filesOf(overdue), undefined, closeOf(17));
      expect(failures(checks)).toMatchObject([{ name: "settlements", entry: stocks[2] }]);
    }
  });

  it("lists the sessions that have no run", async () => {
    const isLogged = (day: number) => day !== 2 && day !== 3;
    const entries = honestEntries(randomBelow(3), 9, { isLogged });
    const { checks } = await look(filesOf(entries), undefined, closeOf(9));
    expect(failures(checks)).toEqual([]);
    const { outcome, detail } = checks.find(({ name }) => name === "sessions") ?? {};
    expect(outcome).toBe("not_proved");
    expect(detail).toContain("stock 2026-01-07, stock 2026-01-08");
    // Not all are named if there are many, and only then are there more.
    expect(detail).not.toContain("...");
    // The weekend of January 10 has no sessions.
    expect(detail).not.toContain("stock 2026-01-10");
    expect(checks.find(({ name }) => name === "settlements")?.detail).toContain("without a run");
  });

  it("recomputes outcomes from prices if they are available", async () => {
    const entries = honestEntries(randomBelow(5), 9);
    const files = filesOf(entries);
    const { checks } = await look(files, undefined, closeOf(9));
    expect(named(checks)).toMatchObject({ outcomes: "proved" });
    const trusting = { source: sourceOf(files), keys: [VERIFIER], known: undefined, now: () => 0 };
    const without = await verifyLog(trusting);
    expect(named(without.checks)).toMatchObject({ outcomes: "not_proved" });
    const fewer = await verifyLog({ ...trusting, prices: pricesOver(4) });
    expect(named(fewer.checks)).toMatchObject({ outcomes: "not_proved" });
  });

  it("reports entries of an unknown kind as not proved", async () => {
    const entries = [...honestEntries(randomBelow(1), 1), json({ kind: "another", v: 1 })];
    const { checks } = await look(filesOf(entries), undefined, closeOf(9));
    expect(named(checks)).toMatchObject({ entries: "not_proved", tree: "proved" });
  });

  it("verifies trees of several tiles", async () => {
    const entries = honestEntries(randomBelow(4), 200);
    expect(entries.length).toBeGreaterThan(700);
    const { checks, size } = await look(filesOf(entries), undefined, closeOf(400));
    expect(failures(checks)).toEqual([]);
    expect(size).toBe(entries.length);
  });

  it("reports a failed checkpoint for files that are not a log", async () => {
    for (const files of [new Map(), new Map([["checkpoint", Buffer.from("<html>")]])]) {
      const { checks } = await look(files, undefined, 0);
      expect(failures(checks)).toMatchObject([{ name: "checkpoint" }]);
    }
  });
});

describe("the verifier of a proof file", () => {
  const entries = honestEntries(randomBelow(6), 30);
  const files = filesOf(entries);

  it("proves every entry, and rejects the proof of an entry under another index", async () => {
    for (let index = 0; index < entries.length; index += 7) {
      const proof = await proofOf(files, entries, index);
      const trust = { keys: [VERIFIER], known: undefined };
      const { checks } = verifyProofFile(proofText(proof), trust);
      expect(named(checks)).toEqual({
        ...{ signature: "proved", witnesses: "not_proved" },
        ...{ inclusion: "proved", history: "not_proved" },
      });
      const another = { ...proof, index: (index + 1) % entries.length };
      expect(failures(verifyProofFile(proofText(another), trust).checks)).toMatchObject([
        { name: "inclusion", entry: another.index },
      ]);
    }
  });

  it("compares the checkpoint with previously seen checkpoints", async () => {
    const proof = proofText(await proofOf(files, entries, 1));
    const { known } = await look(files, undefined, 0);
    const seen = verifyProofFile(proof, { keys: [], known });
    expect(named(seen.checks)).toMatchObject({ signature: "proved", history: "proved" });
    const fork = entries.with(1, json({ ...JSON.parse(entries[1] ?? ""), x: 1 }));
    const forked = proofText(await proofOf(filesOf(fork), fork, 1));
    const { checks } = verifyProofFile(forked, { keys: [], known });
    expect(failures(checks)).toMatchObject([{ name: "history" }]);
  });

  it("reports a missing key, a key of another log, and text that is not a proof", async () => {
    const proof = proofText(await proofOf(files, entries, 1));
    const { checks } = verifyProofFile(proof, { keys: [], known: undefined });
    expect(named(checks)).toMatchObject({ signature: "not_proved", inclusion: "proved" });
    const other = proof.replaceAll(ORIGIN, "other.example/log/1");
    const trust = { keys: [VERIFIER], known: undefined };
    expect(failures(verifyProofFile(other, trust).checks)).toMatchObject([{ name: "signature" }]);
    expect(failures(verifyProofFile("hello", trust).checks)).toMatchObject([{ name: "proof" }]);
  });
});
