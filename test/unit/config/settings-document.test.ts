import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { settingsDocument } from "../../../src/config/settings.ts";

const FILE = new URL("../../../docs/settings.md", import.meta.url);

/** With `UPDATE_DOCS=1` the test rewrites the document. */
it("docs/settings.md lists every setting as it is defined in the code", () => {
  if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, settingsDocument());
  expect(readFileSync(FILE, "utf8")).toBe(settingsDocument());
});
