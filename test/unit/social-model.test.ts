import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openSocialModel } from "../../src/social-model.ts";

const folder = mkdtempSync(join(tmpdir(), "model-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(text: string): string {
  const file = join(folder, "model.json");
  writeFileSync(file, text);
  return file;
}

function parse(text: string): { readonly weight: number } {
  if (!text.startsWith("weight ")) throw new Error("The model is not valid.");
  return { weight: Number(text.slice(7)) };
}

describe("the file of a social model", () => {
  it("is read as its format says", async () => {
    expect(await openSocialModel(fileOf("weight 0.25"), parse)).toEqual({ weight: 0.25 });
  });

  it("may be absent", async () => {
    expect(await openSocialModel(undefined, parse)).toBeUndefined();
  });

  it.each([
    ["is missing", () => join(folder, "nowhere"), "ENOENT"],
    ["is a folder", () => folder, "EISDIR"],
    ["is no model", () => fileOf("{}"), "The model is not valid."],
    ["is too large", () => fileOf(`weight ${"0".repeat(1_000_000)}`), "1000007 bytes"],
  ])("stops the start when it %s, with setting, file and reason", async (_what, file, reason) => {
    const path = file();
    const opened = openSocialModel(path, parse);
    await expect(opened).rejects.toThrow(`SOCIAL_MODEL: ${path} cannot be used: `);
    await expect(opened).rejects.toThrow(reason);
  });
});
