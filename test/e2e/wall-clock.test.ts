// @module-tag nightly

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, vi } from "vitest";
import { leases } from "../../src/store/lease.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { newKey } from "../support/admin.ts";
import { getWith, postJson, register, tokenOf } from "../support/agent.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { temporaryFolder } from "../support/process.ts";
import { type ReceivedRequest, startReceiver } from "../support/receivers.ts";

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const MAIN = fileOf("../../src/main.ts");
const CLOCK = fileOf("../crash/shifted-clock.ts");

type Env = Readonly<Record<string, string>>;

const HOUR_MS = 3_600_000;

/** A clock difference in milliseconds within the tolerated skew between two machines. */
const SKEW_MS = 50_000;

/** Time to wait for a burst of deliveries, in milliseconds. */
const WATCHED_MS = 3_000;

/** Window of the rate limit that the test exceeds, in seconds. */
const WINDOW_SECONDS = 3_600;

/** Environment variables of the service. */
const ENV = {
  ...{ SANDBOX_SESSION_SECONDS: "5", ALLOW_INSECURE_WEBHOOKS: "1" },
  RATE_LIMITS: "changes=3/100000/1000000",
};

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts the service with an adjustable wall clock. */
async function startWithClock(env: Env) {
  const child = fork(MAIN, {
    env: { PATH: process.env.PATH ?? "", PORT: "0", LOG_LEVEL: "error", ...env },
    execArgv: ["--import", CLOCK],
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  children.push(child);
  const [line] = await once(createInterface({ input: child.stdout ?? process.stdin }), "line");
  const { baseUrl: base } = JSON.parse(String(line)) as { readonly baseUrl: string };
  return {
    base,
    /** Sets the offset of the wall clock in milliseconds. */
    async setOff(ms: number): Promise<void> {
      child.send(ms);
      await once(child, "message");
      const answer = await fetch(`${base}/api/health`);
      const { timestamp } = (await answer.json()) as { readonly timestamp: string };
      expect(Math.abs(Date.parse(timestamp) - Date.now() - ms)).toBeLessThan(10_000);
    },
    async stop(): Promise<void> {
      child.kill("SIGTERM");
      expect((await once(child, "exit"))[0]).toBe(0);
    },
  };
}

/** Number of times that each delivery arrived. */
const timesById = (received: readonly ReceivedRequest[]) =>
  [...Map.groupBy(received, ({ id }) => id).values()].map(({ length }) => length);

interface Place {
  readonly name: string;
  readonly isMissing: boolean;
  readonly env: () => Promise<Env>;
}

const places: readonly Place[] = [
  { name: "embedded", isMissing: false, env: async () => ({}) },
  {
    name: postgresAvailable ? "PostgreSQL" : "PostgreSQL SKIPPED: no binaries for this platform",
    isMissing: !postgresAvailable,
    env: async () => ({ DATABASE_URL: await createDatabase() }),
  },
];

for (const { name, isMissing, env: envOf } of places) {
  describe.skipIf(isMissing)(`a change of the wall clock (${name})`, () => {
    const title = "leaves tokens valid, sends no delivery early or twice, and delays no request";
    it(title, async () => {
      const own = await envOf();
      const DATA_DIR = temporaryFolder();
      const service = await startWithClock({ ...own, ...ENV, DATA_DIR });
      const { base, setOff } = service;
      const key = await newKey({ ...own, DATA_DIR }, "signals:read alerts:write");
      const agent = await register(base);
      const token = await tokenOf(base, agent);
      const receiver = await startReceiver();
      const watch = () => {
        const often = { scoreMove: 5, volatilityZ: 1.5, cooldownDays: 0.25 };
        const delivery = { type: "webhook", url: receiver.url };
        const wanted = { ...often, assetClass: "stock", delivery };
        return postJson(`${base}/api/alerts`, wanted, { "x-api-key": key });
      };
      expect((await watch()).status).toBe(201);
      const holder = await holderOf(own);

      // No session closes while the clock is behind; afterwards, the missed sessions are evaluated
      // immediately.
      for (const ms of [-SKEW_MS, SKEW_MS]) {
        await setOff(ms);
        expect(await statusWith(base, token)).toBe(200);
      }
      await receiver.arrived(5);
      receiver.behavior = 500;
      await receiver.arrived(receiver.received.length + 3);
      await setOff(HOUR_MS);
      const later = await tokenOf(base, agent);
      expect(await statusWith(base, later)).toBe(200);
      await pause(WATCHED_MS);
      await setOff(-HOUR_MS);
      expect(await statusWith(base, token)).toBe(200);
      expect(await statusWith(base, later)).toBe(200);
      expect(await statusWith(base, await tokenOf(base, agent))).toBe(200);
      await pause(WATCHED_MS);
      // The first attempt is immediate and the second follows after 5 s; the third would follow after 5
      // minutes.
      expect(Math.max(...timesById(receiver.received))).toBeLessThanOrEqual(2);
      expect(await holderOf(own)).toBe(holder);

      let refused = await watch();
      while (refused.status === 201) refused = await watch();
      expect(refused.status).toBe(429);
      const waitSeconds = Number(refused.headers.get("retry-after"));
      expect(waitSeconds).toBeGreaterThan(0);
      expect(waitSeconds).toBeLessThanOrEqual(WINDOW_SECONDS);
      await setOff(0);
      expect(await statusWith(base, token)).toBe(200);
      await receiver.close();
      await service.stop();
    });
  });
}

const statusWith = async (base: string, token: string) =>
  (await getWith(token, `${base}/api/instruments?limit=1`)).status;

/** Returns the current lease holder, for a database that other processes can read. */
async function holderOf({ DATABASE_URL: url }: Env): Promise<string | undefined> {
  if (url === undefined) return undefined;
  const store = await openPostgres({ url, mode: "sandbox" });
  const found = await vi.waitFor(async () => {
    const record = await store.records.get(leases, "leader");
    expect(record).toBeDefined();
    return record;
  }, 60_000);
  await store.close();
  return found?.value.holder;
}
