import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { settingsDocument } from "../../../src/config/settings.ts";

const FILE = new URL("../../../docs/settings.md", import.meta.url);

/** `UPDATE_DOCS=1` writes the document again. */
it("docs/settings.md lists every setting as the code has it", () => {
  if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, settingsDocument());
  expect(readFileSync(FILE, "utf8")).toBe(settingsDocument());
});
