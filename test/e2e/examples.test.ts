// @module-tag full
import { execFile, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { serveForTest } from "../support/local-server.ts";
import { temporaryFolder } from "../support/process.ts";
import { startTestService } from "../support/test-service.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");

/** A text that repaints the screen, reverses text and begins lines of its own. */
const HOSTILE = "EVIL\u001b[2J\u009b31m\u0085\u007f\u2028\u202e\r\nFORGED";

/** Everything that a terminal obeys, and everything that breaks or reverses a line. */
const OBEYED = /[[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]--\n]/v;

const registered = { client_id: "c", client_secret: "s", access_token: "t" };
const named = { symbol: HOSTILE, score: 9, confidence: HOSTILE };
const factors = { [HOSTILE]: { contribution: 1 } };
const zeros = Buffer.alloc(65_536);

/** Writes without end. */
function flood(stream: NodeJS.WritableStream): void {
  while (stream.write(zeros));
  stream.once("drain", () => flood(stream));
}

const hostileServices: Readonly<Record<string, RequestListener>> = {
  "hostile names": (_req, res) =>
    void res.end(JSON.stringify({ ...registered, items: [named], factors })),
  "a hostile token": (_req, res) =>
    void res.end(JSON.stringify({ ...registered, access_token: HOSTILE })),
  "a text instead of JSON": (_req, res) => void res.end(HOSTILE),
  "an error": ({ socket }) =>
    void socket.end(`HTTP/1.1 400 EVIL\u001b[2J\r\nconnection: close\r\n\r\n${HOSTILE}`),
  "a status line of another protocol": ({ socket }) => void socket.end("EVIL\u001b[2J\r\n\r\n"),
  "a body without end": (_req, res) => flood(res),
  "a body that grows by decompression": (_req, res) => {
    res.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(2 ** 26)));
  },
};

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

  const programs = [
    { name: "agent.ts", program: process.execPath, deadline: ["30_000", "500"] },
    ...(hasPython ? [{ name: "agent.py", program: "python3", deadline: ["= 30", "= 0.5"] }] : []),
  ] as const;
  const attacks = programs.flatMap((one) =>
    Object.keys(hostileServices).map((attack) => ({ ...one, attack })),
  );

  /** Runs a program to its end. @returns What it printed. */
  const printed = (program: string, ...args: readonly string[]) =>
    new Promise<string>((resolve) => {
      execFile(program, [...args], (_failure, out, error) => resolve(out + error));
    });

  it.each(attacks)(
    "$name repeats nothing that a terminal obeys, and ends: $attack",
    async (one) => {
      const base = await serveForTest(hostileServices[one.attack] ?? expect.fail);
      const said = await printed(one.program, join(ROOT, "examples", one.name), base);
      expect(said).not.toMatch(OBEYED);
      expect(said).not.toMatch(/^FORGED/m);
      if (one.attack === "hostile names") expect(said).toContain("EVIL");
      else expect(said).not.toContain("EVIL");
      if (one.attack === "an error") expect(said).toContain("/oauth/register: status 400");
      if (one.attack.startsWith("a body"))
        expect(said).toContain("/oauth/register: no JSON of at most 1000000 bytes");
    },
  );

  it.each(programs)("$name waits for no answer that does not end", async (one) => {
    const [before, after] = one.deadline;
    const source = readFileSync(join(ROOT, "examples", one.name), "utf8");
    const impatient = join(temporaryFolder(), one.name);
    writeFileSync(impatient, source.replace(before, after));
    const base = await serveForTest((_req, res) => void res.write(" "));
    expect(await printed(one.program, impatient, base)).toContain(" in time");
  });
});
