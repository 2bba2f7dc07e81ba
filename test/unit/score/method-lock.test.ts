import { expect, it } from "vitest";
import { FACTOR_STATUSES } from "../../../src/factors/reading.ts";
import { candidateLock, methodLock, methodOutputs } from "../../../src/method/outputs.ts";
import candidateLocked from "../../../src/score/candidate.lock.json" with { type: "json" };
import { CANDIDATE } from "../../../src/score/candidate.ts";
import lock from "../../../src/score/method.lock.json" with { type: "json" };
import { DIRECTIONS, FORCED_WAIT_REASONS } from "../../../src/score/signal-hysteresis.ts";
import { SNAPSHOT_STATUSES } from "../../../src/score/snapshot.ts";

const outputs = methodOutputs();
const all = [...outputs.closed, ...outputs.interim, ...outputs.fewStocks];

it("the scoring method matches method.lock.json (run npm run method:lock after an intended change)", {
  tags: ["full"],
}, () => {
  expect(methodLock(outputs)).toEqual(lock);
});

it("the candidate method matches candidate.lock.json and keeps its registration date", () => {
  expect(candidateLock(outputs)).toEqual(candidateLocked);
  expect(CANDIDATE.registered).toBe("2026-11-23");
});

it("the locked results include every status, direction and reason for WAIT", () => {
  const found = <T>(values: readonly T[]) => new Set(values);
  expect(found(all.map(({ status }) => status))).toEqual(new Set(SNAPSHOT_STATUSES));
  expect(found(all.map(({ signal }) => signal.direction))).toEqual(new Set(DIRECTIONS));
  expect(found(all.map(({ signal }) => signal.forcedWait))).toEqual(
    new Set([null, ...FORCED_WAIT_REASONS]),
  );
  expect(found(all.map(({ signal }) => signal.frozen))).toEqual(new Set([true, false]));
});

it.each([
  ["momentum", ["ok", "stale", "insufficient_data"]],
  ["valuation", ["ok", "stale", "insufficient_data", "not_observed"]],
  ["social", FACTOR_STATUSES],
  ["darkpool", FACTOR_STATUSES],
] as const)(
  "the locked results include every status and input of the factor %s",
  (factor, statuses) => {
    const results = all.map(({ factors }) => factors[factor]);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(statuses));
    const used = results.flatMap(({ inputs }) => inputs).filter(({ weight }) => weight !== 0);
    expect(new Set(used.map(({ name }) => name)).size).toBe(
      { momentum: 8, valuation: 3, social: 2, darkpool: 2 }[factor],
    );
  },
);

it("the locked results include every kind of event", () => {
  const kinds = outputs.events.map((event) => {
    const { kind, severity, reason } = event as Readonly<Record<string, string>>;
    return [kind, severity, reason].filter(Boolean).join(" ");
  });
  expect(new Set(kinds)).toEqual(
    new Set([
      "signal.shift direction",
      "signal.shift score",
      "volatility.alert high volatility",
      "volatility.alert extreme volatility",
      "volatility.alert extreme return",
    ]),
  );
});
