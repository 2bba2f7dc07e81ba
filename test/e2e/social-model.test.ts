// @module-tag full

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { getWith, newToken } from "../support/agent.ts";
import { runToEnd, startProcess, temporaryFolder } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { smallMarket } from "../support/small-market.ts";
import { type FactorsAnswer, readMethod, recompute } from "../support/third-party.ts";

const run = promisify(execFile);

const path = (relative: string) => fileURLToPath(new URL(`../../${relative}`, import.meta.url));

/** Training messages that make "noon" bullish for the model; to the lexicon the word is neutral. */
const LABELLED = Array.from({ length: 10 }, (_, day) => [
  { text: `day ${day}: all quiet at noon`, label: "bullish" },
  { text: `day ${day}: the rain begins`, label: "bearish" },
  { text: `day ${day}: the doors are open`, label: "neutral" },
]).flat();

/** Trains a model with the operator's command. @returns The path of the model file. */
async function trained(): Promise<string> {
  const folder = temporaryFolder();
  const [labelled, model] = [join(folder, "labelled.jsonl"), join(folder, "model.json")];
  writeFileSync(labelled, LABELLED.map((message) => JSON.stringify(message)).join("\n"));
  await run(process.execPath, [PROGRAM, "train", "--in", labelled, "--out", model]);
  return model;
}

interface Answer extends FactorsAnswer {
  readonly methodVersion: string;
  readonly analyser: { readonly name: string; readonly modelSha256: string | null };
}

/** Reads the social factor of the only instrument with messages, and the method, from a service. */
async function read(env: Readonly<Record<string, string>>) {
  const { baseUrl } = await startProcess(env);
  const token = await newToken(baseUrl);
  const json = async <T>(address: string) =>
    (await (await getWith(token, baseUrl + address)).json()) as T;
  const answer = await json<Answer>("/api/factors?detail=full&symbol=ACME");
  const method = await readMethod(answer, json);
  const { social } = answer.factors;
  const bullishness = social?.inputs.find(({ name }) => name === "bullishness")?.value;
  return { answer, method, social, bullishness };
}

describe("the process with SOCIAL_MODEL", () => {
  it("also scores messages with the model, and states this in every answer", async () => {
    const SOCIAL_MODEL = await trained();
    const market = { MARKET: `files:${await smallMarket()}`, AS_OF: "2014-03-28T21:00:00Z" };
    const plain = await read(market);
    const modelled = await read({ ...market, SOCIAL_MODEL });

    expect(plain.social?.z).toEqual(expect.any(Number));
    expect(modelled.social?.z).toEqual(expect.any(Number));
    expect(modelled.bullishness).toBeGreaterThan(Number(plain.bullishness));
    expect(modelled.social?.z).not.toBe(plain.social?.z);
    for (const name of ["momentum", "valuation", "darkpool"]) {
      expect(modelled.answer.factors[name]?.z).toBe(plain.answer.factors[name]?.z);
    }

    const modelSha256 = createHash("sha256").update(readFileSync(SOCIAL_MODEL)).digest("hex");
    const analyser = { name: "lexicon_and_model", modelSha256 };
    expect(plain.answer.analyser).toEqual({ name: "lexicon", modelSha256: null });
    expect(modelled.answer.analyser).toEqual(analyser);
    expect(modelled.method.parameters.social).toMatchObject({ analyser });
    expect(modelled.answer.tableVersion).not.toBe(plain.answer.tableVersion);
    for (const { answer, method } of [plain, modelled]) {
      const { score } = recompute(answer, method);
      expect(score).toBeCloseTo(answer.scoreRaw ?? Number.NaN, 9);
    }
  });

  it.each([
    ["/nowhere/model.json", "ENOENT"],
    [path("test"), "it is no file"],
    [path("package.json"), "The model is not valid"],
  ])("rejects %s and states the reason", async (SOCIAL_MODEL, reason) => {
    const { code, said } = await runToEnd({ SOCIAL_MODEL, PORT: "0" });
    expect(code).toBe(1);
    expect(said).toContain(`Cannot start: SOCIAL_MODEL: ${SOCIAL_MODEL} cannot be used: `);
    expect(said).toContain(reason);
    expect(said).not.toContain("    at ");
  });

  it("rejects a damaged model", async () => {
    const SOCIAL_MODEL = join(temporaryFolder(), "model.json");
    const text = readFileSync(await trained(), "utf8");
    writeFileSync(SOCIAL_MODEL, text.replace(/"scales":\[/, '"scales":[1'));
    const { code, said } = await runToEnd({ SOCIAL_MODEL, PORT: "0" });
    expect(code).toBe(1);
    expect(said).toContain("The model is damaged");
  });
});
