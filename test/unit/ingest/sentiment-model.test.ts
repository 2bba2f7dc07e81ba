import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openSentimentReader } from "../../../src/ingest/sentiment-model.ts";
import { MAX_MODEL_BYTES, serializeModel } from "../../../src/messages/hashed-linear/file.ts";
import { trainHashedLinear } from "../../../src/messages/hashed-linear/training.ts";
import { messagePolarity } from "../../../src/messages/polarity.ts";

const folder = mkdtempSync(join(tmpdir(), "model-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(text: string): string {
  const file = join(folder, "model.json");
  writeFileSync(file, text);
  return file;
}

/** A model that classifies ordinary words as bullish or bearish. */
const model = trainHashedLinear(
  [
    { text: "the teapot is blue", label: "bullish" },
    { text: "the kettle is red", label: "bearish" },
    { text: "nothing happened", label: "neutral" },
  ],
  { seed: 1, onEpoch: () => undefined },
);

describe("the sentiment model", () => {
  it("is the lexicon alone by default, and is labeled accordingly", async () => {
    const { analyser, polarityOf } = await openSentimentReader(undefined);
    expect(analyser).toEqual({ name: "lexicon", modelSha256: null });
    for (const text of ["profits soar", "shares crash", "the teapot is blue"]) {
      expect(polarityOf(text)).toBe(messagePolarity(text));
    }
  });

  it("is the mean of the lexicon and a trained model when a model file is set, and is labeled accordingly", async () => {
    const text = serializeModel(model);
    const { analyser, polarityOf } = await openSentimentReader(fileOf(text));
    const modelSha256 = createHash("sha256").update(text).digest("hex");
    expect(analyser).toEqual({ name: "lexicon_and_model", modelSha256 });
    expect(messagePolarity("the teapot is blue")).toBe(0);
    expect(polarityOf("the teapot is blue")).toBeGreaterThan(0.1);
    expect(polarityOf("the kettle is red")).toBeLessThan(-0.1);
    expect(polarityOf("profits soar")).toBe(messagePolarity("profits soar", model));
  });

  it.each([
    ["is missing", () => join(folder, "nowhere"), "ENOENT"],
    ["is a folder", () => folder, "it is no file"],
    ["is a device file", () => "/dev/zero", "it is no file"],
    ["is not a model", () => fileOf("{}"), "The model is not valid"],
    ["is damaged", () => fileOf(serializeModel(model).replace(/"A/, '"B')), "damaged"],
    ["is too large", () => fileOf("0".repeat(MAX_MODEL_BYTES + 1)), "400001 bytes"],
  ])(
    "prevents the start when the model file %s, with an error that contains setting, path and reason",
    async (_what, file, reason) => {
      const path = file();
      const opened = openSentimentReader(path);
      await expect(opened).rejects.toThrow(`SOCIAL_MODEL: ${path} cannot be used: `);
      await expect(opened).rejects.toThrow(reason);
    },
  );
});
