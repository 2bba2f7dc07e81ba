// @module-tag full
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startTestService } from "../support/test-service.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");

describe("the example agent", () => {
  it("needs only the base URL to print the strongest signals and the factors behind one of them", async () => {
    const { base } = await startTestService();
    const { stdout } = await run(process.execPath, [join(ROOT, "examples/agent.ts"), base]);
    expect(stdout).toMatch(/^([A-Z-]+\.SIM {2}\d+\n){1,5}/);
    expect(stdout).toMatch(/\n {2}momentum: -?\d+\.\d\d points\n/);
  });
});
