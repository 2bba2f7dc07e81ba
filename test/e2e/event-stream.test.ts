// @module-tag full

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type Headers, makeAlert } from "../support/alert-events.ts";
import { type OpenStream, openStream } from "../support/event-stream.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import {
  freePort,
  type RunningProcess,
  startProcess,
  temporaryFolder,
} from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";

const run = promisify(execFile);

/** A key that the operator gives out. */
async function keyFor(DATA_DIR: string): Promise<Headers> {
  const asked = [
    "key",
    "create",
    "--name",
    "streams",
    "--scopes",
    "alerts:write signals:read",
    "--json",
  ];
  const { stdout } = await run(process.execPath, [PROGRAM, "admin", ...asked], {
    env: { PATH: process.env.PATH ?? "", DATA_DIR },
  });
  return { "x-api-key": (JSON.parse(stdout) as { key: string }).key };
}

/** An alert to which much is news. */
const LIVELY = {
  ...{ symbols: undefined, assetClass: "stock" },
  ...{ scoreMove: 5, volatilityZ: 1.5, cooldownDays: 0.25 },
};

async function open(base: string, headers: Headers, path = ""): Promise<OpenStream> {
  const stream = await openStream(`${base}/api/alerts/stream${path}`, headers);
  await stream.untilBlock(({ id }) => id !== undefined);
  return stream;
}

/** Asks a process to stop, and waits for its end. @returns How long that took, in milliseconds. */
async function stop({ child }: RunningProcess): Promise<number> {
  const from = performance.now();
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  return performance.now() - from;
}

/** What the events of a stream are about, each with its number. */
function numbersIn(streams: readonly OpenStream[]): ReadonlyMap<string, readonly number[]> {
  const seen = streams.flatMap(({ blocks }) =>
    blocks.flatMap(({ data }) => (data === undefined ? [] : [JSON.parse(data).data as Told])),
  );
  const bySymbol = Map.groupBy(seen, ({ symbol }) => symbol);
  return new Map([...bySymbol].map(([symbol, told]) => [symbol, told.map((t) => t.sequence)]));
}

interface Told {
  readonly symbol: string;
  readonly sequence: number;
}

it("a stopping process ends its streams at once, and reconnecting clients miss no event", async () => {
  const env = { DATA_DIR: temporaryFolder(), SANDBOX_SESSION_SECONDS: "1" };
  const first = await startProcess(env);
  const headers = await keyFor(env.DATA_DIR);
  await makeAlert({ base: first.baseUrl }, headers, LIVELY);
  const before = await open(first.baseUrl, headers);
  await before.until(10);
  const [ms, how] = await Promise.all([stop(first), before.ended]);
  expect(how).toBe("ended");
  expect(ms).toBeLessThan(4_000);

  const { port } = new URL(first.baseUrl);
  const second = await startProcess({ ...env, PORT: port });
  const last = { "last-event-id": before.blocks.at(-1)?.id ?? "" };
  const after = await open(second.baseUrl, { ...headers, ...last });
  await after.until(10);
  for (const [symbol, numbers] of numbersIn([before, after])) {
    expect(numbers, symbol).toEqual(numbers.map((_, index) => index + 1));
  }
}, 120_000);

const title = postgresAvailable
  ? "two processes on one database"
  : "two processes on one database SKIPPED: no PostgreSQL binaries for this platform";

describe.skipIf(!postgresAvailable)(title, () => {
  it("both stream the events of the leader in one order", async () => {
    const shared = {
      DATABASE_URL: await createDatabase(),
      MASTER_KEY: randomBytes(32).toString("base64"),
      BASE_URL: "https://signals.example",
      SANDBOX_SESSION_SECONDS: "1",
    };
    const DATA_DIR = temporaryFolder();
    const start = async (env: Readonly<Record<string, string>>) => {
      const PORT = await freePort();
      const process = await startProcess({ ...shared, ...env, PORT });
      return { ...process, base: `http://127.0.0.1:${PORT}` };
    };
    const [one, two] = await Promise.all([start({ DATA_DIR }), start({})]);
    const headers = await keyFor(DATA_DIR);
    await makeAlert(one, headers, LIVELY);
    const streams = await Promise.all([one, two].map(({ base }) => open(base, headers)));
    await Promise.all(streams.map((stream) => stream.until(20)));
    const [ids = [], others = []] = streams.map((stream) => stream.ids().slice(0, 20));
    expect(ids).toEqual(others);

    // Whichever leads, the other goes on where it was.
    await stop(one);
    await streams[1]?.until((streams[1]?.ids().length ?? 0) + 10);
    for (const [symbol, numbers] of numbersIn(streams.slice(1))) {
      expect(numbers, symbol).toEqual(numbers.map((_, index) => index + 1));
    }
  }, 120_000);
});
