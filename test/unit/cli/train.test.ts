import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runProgram } from "../../../src/cli/program.ts";
import { parseModel } from "../../../src/messages/hashed-linear/file.ts";
import { messagePolarity } from "../../../src/messages/polarity.ts";
import {
  accuracy,
  areaUnderCurve,
  computeOutOfFoldPolarities,
} from "../../../src/research/train/cross-validation.ts";

const FIXTURE = fileURLToPath(new URL("../../fixtures/messages.jsonl", import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "train-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the train command in the directory of the test. */
async function run(...argv: readonly string[]) {
  const said = { out: "", err: "" };
  const into = (name: keyof typeof said) =>
    new Writable({
      decodeStrings: false,
      write(chunk, _encoding, callback) {
        said[name] += chunk;
        callback();
      },
    });
  const exitCode = await runProgram({
    argv: ["train", ...argv],
    env: {},
    folder,
    terminal: { stdin: Readable.from([]), stdout: into("out"), stderr: into("err") },
  });
  return { exitCode, ...said };
}

/** Runs the train command on a file with these lines. */
function runOn(...lines: readonly string[]) {
  writeFileSync(join(folder, "labelled.jsonl"), lines.join("\n"));
  return run("--in", "labelled.jsonl");
}

const good = readFileSync(FIXTURE, "utf8").trim().split("\n");

describe("market-signal train", () => {
  it("prints the quality of each classifier and writes a model that the service can load", async () => {
    const { exitCode, out, err } = await run("--in", FIXTURE, "--out", "mine.json");
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(out).toMatch(/^\d+ messages: \d+ bearish, \d+ neutral, \d+ bullish\n/u);
    expect(out).toMatch(
      / {2}lexicon alone +0\.9\d{3} +0\.9\d{3}\n {2}model alone +0\.\d{4} +0\.\d{4}/u,
    );
    expect(out).toMatch(/ {2}average +0\.9\d{3} +0\.\d{4}\n/u);
    expect(readdirSync(folder)).toEqual(["mine.json"]);
    const model = parseModel(readFileSync(join(folder, "mine.json"), "utf8"));
    expect(messagePolarity("profit beats, shares pop", model)).toBeGreaterThan(0.3);
  });

  it("writes the same model for the same messages, to model.json unless --out is given", async () => {
    await run("--in", FIXTURE);
    const first = readFileSync(join(folder, "model.json"), "utf8");
    await run("--in", FIXTURE);
    expect(readFileSync(join(folder, "model.json"), "utf8")).toBe(first);
  });

  it("ignores empty lines, unknown members, a byte order mark and Windows line endings", async () => {
    const [first = "", ...rest] = good;
    const extra = JSON.stringify({ ...JSON.parse(first), id: 5 });
    const { exitCode } = await runOn(`\ufeff${extra}\r`, "", "  ", ...rest, "");
    expect(exitCode).toBe(0);
  });

  it.each([
    ["{", "labelled.jsonl:3: the line is no JSON."],
    ["[]", "labelled.jsonl:3: the line has to be a JSON object."],
    ["5", "labelled.jsonl:3: the line has to be a JSON object."],
    ['{"label":"bullish"}', 'labelled.jsonl:3: "text" has to be a text that is not empty.'],
    [
      '{"text":"","label":"bullish"}',
      'labelled.jsonl:3: "text" has to be a text that is not empty.',
    ],
    [
      '{"text":"up","label":"BUY\\u001b[31m"}',
      'labelled.jsonl:3: "label" has to be bullish, bearish or neutral.',
    ],
  ])("reports which line is invalid: %s", async (line, fault) => {
    const result = await runOn(...good.slice(0, 2), line, ...good);
    expect(result).toEqual({ exitCode: 1, out: "", err: `${fault}\n` });
    expect(readdirSync(folder)).toEqual(["labelled.jsonl"]);
  });

  it("requires both bullish and bearish messages", async () => {
    const { exitCode, err } = await runOn(...good.filter((line) => !line.includes("bearish")));
    expect(exitCode).toBe(1);
    expect(err).toBe("labelled.jsonl: 0 bearish messages are too few; at least 5 are needed.\n");
  });

  it("reports a missing input file, and keeps an old model that it cannot replace", async () => {
    expect(await run("--in", "missing.jsonl")).toMatchObject({ exitCode: 1, out: "" });
    const { exitCode, err } = await run("--in", FIXTURE, "--out", "no/such/folder.json");
    expect(exitCode).toBe(1);
    expect(err).toMatch(/ENOENT/u);
  });

  it.each([
    [[], "--in: is missing: name the labelled messages."],
    [["--inn", "x"], "Unknown option '--inn'"],
    [["x"], "There is nothing to do with x."],
  ])("rejects the arguments %j", async (argv, fault) => {
    const { exitCode, err } = await run(...argv);
    expect(exitCode).toBe(2);
    expect(err.startsWith(fault), err).toBe(true);
    expect(err).toMatch(/market-signal --help says more\.\n$/u);
  });

  it("prints its usage text", async () => {
    const { exitCode, out } = await run("--help");
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^market-signal train --in <file> \[options\]\n/u);
  });
});

describe("cross-validation", () => {
  it("puts copies of a message in the same fold, so that no copy is tested on a model trained on another copy", () => {
    const copies = Array.from({ length: 40 }, (_, at) => ({
      text: `RT @user${at} zorbing ${at} https://example.com/${at}`,
      label: "bullish" as const,
    }));
    const others = Array.from({ length: 40 }, (_, at) => ({
      text: `thing ${"abcdefgh"[at % 8]} ${"ijklm"[at % 5]}`,
      label: "bearish" as const,
    }));
    const predictions = computeOutOfFoldPolarities([...copies, ...others], {
      seed: 1,
      onEpoch: () => {},
    });
    const mean = predictions
      .filter(({ label }) => label === "bullish")
      .reduce((sum, { model }) => sum + model / copies.length, 0);
    expect(mean).toBeLessThan(0);
  });
});

describe("the quality of a model", () => {
  const readings = [
    { polarity: 0.9, label: "bullish" },
    { polarity: 0.1, label: "bullish" },
    { polarity: 0.1, label: "bearish" },
    { polarity: -0.9, label: "bearish" },
    { polarity: 1, label: "neutral" },
  ] as const;

  it("is the AUC of bullish over bearish messages, with ties counted as half and neutral messages excluded", () => {
    expect(areaUnderCurve(readings)).toBe(0.875);
    expect(areaUnderCurve(readings.slice(0, 2))).toBeNaN();
  });

  it("is measured with the same thresholds as in the social factor", () => {
    expect(accuracy(readings)).toBe(0.4);
    expect(accuracy([])).toBeNaN();
  });
});
