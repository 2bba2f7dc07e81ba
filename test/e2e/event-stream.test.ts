// @module-tag full

import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { newKey } from "../support/admin.ts";
import { type Headers, makeAlert } from "../support/alert-events.ts";
import { type OpenStream, openStream } from "../support/event-stream.ts";
import { freePort } from "../support/free-port.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { type RunningProcess, startProcess, temporaryFolder } from "../support/process.ts";

vi.setConfig({ testTimeout: 600_000 });

/**
 * Timeout and interval in milliseconds for a busy machine, whose database may reject work for lack
 * of time.
 */
const PATIENT = { timeout: 120_000, interval: 250 };

/** Creates an API key with the operator's command. @returns Headers with the key. */
const keyFor = async (DATA_DIR: string): Promise<Headers> => ({
  "x-api-key": await newKey({ DATA_DIR }, "alerts:write signals:read"),
});

/** An alert with thresholds so low that it has many events. */
const LIVELY = {
  ...{ symbols: undefined, assetClass: "stock" },
  ...{ scoreMove: 5, volatilityZ: 1.5, cooldownDays: 0.25 },
};

/** Opens a stream from the first event on. Retries while the answer is 503, as clients do. */
async function open(base: string, headers: Headers): Promise<OpenStream> {
  const stream = await vi.waitFor(async () => {
    const opened = await openStream(`${base}/api/alerts/stream?cursor=0`, headers);
    expect(opened.response.status).not.toBe(503);
    return opened;
  }, PATIENT);
  await stream.untilBlock(({ id }) => id !== undefined);
  return stream;
}

/** Sends SIGTERM to a process and expects it to exit with code 0. */
async function stop({ child }: RunningProcess): Promise<void> {
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
}

/** The sequence numbers of the received events, by symbol. */
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

it("a stopping process ends its streams immediately, and reconnecting clients miss no event", async () => {
  const env = { DATA_DIR: temporaryFolder(), SANDBOX_SESSION_SECONDS: "1" };
  const first = await startProcess(env);
  const headers = await keyFor(env.DATA_DIR);
  await makeAlert({ base: first.baseUrl }, headers, LIVELY);
  const before = await open(first.baseUrl, headers);
  await before.until(10);
  const [how] = await Promise.all([before.ended, stop(first)]);
  // A stream that lasted until the end of the grace period would be cut off instead.
  expect(how).toBe("ended");

  const { port } = new URL(first.baseUrl);
  const second = await startProcess({ ...env, PORT: port });
  const last = { "last-event-id": before.blocks.at(-1)?.id ?? "" };
  const after = await open(second.baseUrl, { ...headers, ...last });
  await after.until(10);
  for (const [symbol, numbers] of numbersIn([before, after])) {
    expect(numbers, symbol).toEqual(numbers.map((_, index) => index + 1));
  }
});

const title = postgresAvailable
  ? "two processes on one database"
  : "two processes on one database SKIPPED: no PostgreSQL binaries for this platform";

describe.skipIf(!postgresAvailable)(title, () => {
  it("two processes stream the events of the leader in the same order", async () => {
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
    const headers = await vi.waitFor(() => keyFor(DATA_DIR), PATIENT);
    const asked = { ...headers, "idempotency-key": randomUUID() };
    await vi.waitFor(() => makeAlert(one, asked, LIVELY), PATIENT);
    const streams = await Promise.all([one, two].map(({ base }) => open(base, headers)));
    await Promise.all(streams.map((stream) => stream.until(20)));
    const [ids = [], others = []] = streams.map((stream) => stream.ids().slice(0, 20));
    expect(ids).toEqual(others);

    // Whichever process was the leader, the other continues without a gap.
    await stop(one);
    await streams[1]?.until((streams[1]?.ids().length ?? 0) + 10);
    for (const [symbol, numbers] of numbersIn(streams.slice(1))) {
      expect(numbers, symbol).toEqual(numbers.map((_, index) => index + 1));
    }
  });
});
