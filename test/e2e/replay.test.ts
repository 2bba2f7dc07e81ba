// @module-tag full

import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { runToEnd, startProcess, temporaryFolder } from "../support/process.ts";
import { smallMarket } from "../support/small-market.ts";

/** Starts a replay of four days in half a second, and collects standard error. */
async function start(env: Readonly<Record<string, string>>) {
  const REPLAY = "2014-01-06/2014-01-10@8";
  const process = await startProcess({ REPLAY, ...env });
  const said: string[] = [];
  process.child.stderr?.on("data", (chunk) => said.push(String(chunk)));
  const ended = () => said.join("").includes("the replay has ended");
  await expect.poll(ended).toBe(true);
  return process;
}

/** Returns the recorded sessions of an instrument from a service's database. */
function recorded(folder: string, symbol = "ACME"): readonly string[] {
  const database = new DatabaseSync(join(folder, "store.sqlite"), { readOnly: true });
  const rows = database
    .prepare("SELECT at FROM archive WHERE kind = 'snapshot' AND subject = ? ORDER BY at")
    .all(symbol);
  database.close();
  return rows.map(({ at }) => new Date(Number(at)).toISOString().slice(0, 10));
}

async function stop({ child }: Awaited<ReturnType<typeof start>>) {
  child.kill("SIGTERM");
  await once(child, "exit");
}

describe("the process with REPLAY", () => {
  it("plays history to its end, reports the end, and records each session once across restarts", async () => {
    const MARKET = `files:${await smallMarket()}`;
    const DATA_DIR = temporaryFolder();
    const first = await start({ MARKET, DATA_DIR });
    expect(first.ready).toMatchObject({
      market: "replay",
      asOf: "2014-01-06T00:00:00.000Z",
      replay: {
        from: "2014-01-06T00:00:00.000Z",
        to: "2014-01-10T00:00:00.000Z",
        daysPerSecond: 8,
      },
    });
    const health = await (await fetch(`${first.baseUrl}/api/health`)).json();
    expect(health).toMatchObject({ market: "replay", asOf: "2014-01-10T00:00:00.000Z" });
    const lastRecorded = () => recorded(DATA_DIR).at(-1);
    await expect.poll(lastRecorded).toBe("2014-01-09");
    const dates = recorded(DATA_DIR);
    expect(dates.slice(-4)).toEqual(["2014-01-06", "2014-01-07", "2014-01-08", "2014-01-09"]);
    expect(new Set(dates).size).toBe(dates.length);

    await stop(first);
    await stop(await start({ MARKET, DATA_DIR }));
    expect(recorded(DATA_DIR)).toEqual(dates);
  });

  it("stores its log in a data directory that the process without REPLAY rejects", async () => {
    const MARKET = `files:${await smallMarket()}`;
    const DATA_DIR = temporaryFolder();
    await stop(await start({ MARKET, DATA_DIR }));
    const { code, said } = await runToEnd({ MARKET, DATA_DIR, PORT: "0" });
    expect(code).toBe(1);
    expect(said).toContain("replay");
    expect(said).toContain("DATA_DIR");
  });

  it.each([
    [{ REPLAY: "2014-01-02/2014-12-31@2" }, "MARKET=files:<folder>"],
    [{ REPLAY: "2014-12-31/2014-01-02@2", MARKET: "files:/nowhere" }, "the earlier first"],
    [{ REPLAY: "2014-01-02/2014-12-31@0", MARKET: "files:/nowhere" }, "from 0.00001 to 100"],
    [
      { REPLAY: "2014-01-02/2014-12-31@2", AS_OF: "2014-06-30T00:00:00Z", MARKET: "files:/x" },
      "AS_OF",
    ],
  ])("rejects %o and lists the allowed values", async (env, allowed) => {
    const { code, said } = await runToEnd({ PORT: "0", ...env });
    expect(code).toBe(1);
    expect(said).toMatch(/^Cannot start: REPLAY: /);
    expect(said).toContain(allowed);
    expect(said).not.toContain("    at ");
  });

  it("rejects a range without data and states the range that has data", async () => {
    const MARKET = `files:${await smallMarket()}`;
    const early = await runToEnd({ PORT: "0", MARKET, REPLAY: "2012-01-02/2013-06-28@2" });
    expect(early.said).toContain("the first bar became known at 2012-10-01T20:15:00.000Z");
    const late = await runToEnd({ PORT: "0", MARKET, REPLAY: "2014-01-02/2014-12-31@2" });
    expect(late.said).toContain("the last bar became known at 2014-04-01T00:00:00.000Z");
    expect([early.code, late.code]).toEqual([1, 1]);
  });
});

describe("the process without REPLAY", () => {
  it("does not record the sandbox, whose scores can be recomputed from the seed", async () => {
    const DATA_DIR = temporaryFolder();
    const { baseUrl, ready } = await startProcess({ DATA_DIR, SANDBOX_SESSION_SECONDS: "1" });
    const sessions = async () => {
      const { asOf } = (await (await fetch(`${baseUrl}/api/health`)).json()) as { asOf: string };
      return (Date.parse(asOf) - Date.parse(String(ready.asOf))) / 1_000;
    };
    await expect.poll(sessions).toBeGreaterThanOrEqual(3);
    expect(recorded(DATA_DIR, "ALDER.SIM")).toEqual([]);
  });
});
