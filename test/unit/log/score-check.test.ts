import { expect, it } from "vitest";
import { type CommitmentOpening, commitmentHash } from "../../../src/log/leaves.ts";
import { checkScores } from "../../../src/log/verify/score-check.ts";

const text = JSON.stringify({ momentum: { contribution: 12.344 }, social: { contribution: -2 } });
const opening: CommitmentOpening = { salt: "5a", text };
const signal = { index: 7, factors: commitmentHash(opening), scoreRaw: 60.34 };

const check = (change: object, opened: CommitmentOpening | undefined = opening, signals = 1) =>
  checkScores([{ ...signal, ...change }], signals, async () => opened);

it("the check of scores succeeds when the disclosed factors add up to the score", async () => {
  expect(await check({})).toMatchObject({ name: "scores", outcome: "proved" });
  expect(await check({}, opening, 2)).toMatchObject({ outcome: "not_proved" });
  const unopened = await checkScores([signal], 1, async () => undefined);
  expect(unopened).toMatchObject({ outcome: "not_proved" });
  expect(await checkScores([signal], 1, undefined)).toMatchObject({ outcome: "not_proved" });
});

it("the check of scores fails and reports the entry when the factors do not match their hash or the score", async () => {
  const failed = { outcome: "failed", entry: 7 };
  expect(await check({ scoreRaw: 60.35 })).toMatchObject(failed);
  expect(await check({}, { ...opening, salt: "5b" })).toMatchObject(failed);
  const odd = { salt: "5a", text: "[]" };
  expect(await check({ factors: commitmentHash(odd) }, odd)).toMatchObject({
    ...failed,
    detail: "entry 7 commits to something else than factors with contributions",
  });
});
