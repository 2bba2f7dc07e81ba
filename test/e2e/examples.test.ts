// @module-tag full
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { serveForTest } from "../support/local-server.ts";
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

  const hasPython = spawnSync("python3", ["--version"]).status === 0;
  it.each([
    ["agent.ts", process.execPath],
    ["agent.py", "python3"],
  ])("sends its token to no address that the service redirects to (%s)", async (name, program) => {
    if (program === "python3" && !hasPython) return;
    const asked: (string | undefined)[] = [];
    const other = await serveForTest(({ url }, res) => {
      asked.push(url);
      res.end("{}");
    });
    const base = await serveForTest(({ url, method }, res) => {
      if (method === "GET") return void res.writeHead(307, { location: other + url }).end();
      const secrets = { client_id: "c", client_secret: "s", access_token: "t" };
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(secrets));
    });
    await expect(run(program, [join(ROOT, "examples", name), base])).rejects.toThrow(name);
    expect(asked).toEqual([]);
  });
});
