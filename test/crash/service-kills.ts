import { setTimeout } from "node:timers/promises";
import { getWith, postForm, type RegisteredAgent, register, tokenOf } from "../support/agent.ts";
import { NO_LIMITS, startService } from "./child.ts";
import { temporaryPlace } from "./disks.ts";
import type { Outcome } from "./outcome.ts";

/** Number of concurrent agents. */
const AGENTS = 8;

/** Base of the random duration of the load before a kill, in milliseconds. */
const STORM_MS = 800;

/**
 * Goal for the time from the start of the process to its ready line, in milliseconds; the bench has
 * the same goal for the first correct answer.
 */
const READY_MS = 2_000;

/** What the service has acknowledged to agents. */
interface Promises {
  readonly registered: RegisteredAgent[];
  /** Clients that deleted their registration. */
  readonly removed: RegisteredAgent[];
  /** Tokens that worked and were then revoked. */
  readonly revoked: string[];
}

/** Kills the service (SIGKILL) while agents register, get tokens and revoke them. */
export async function serviceKills(rounds: number): Promise<Outcome> {
  const { folder, remove } = await temporaryPlace();
  const promises: Promises = { registered: [], removed: [], revoked: [] };
  const readyMs: number[] = [];
  const broken = { registered: 0, removed: 0, revoked: 0 };
  try {
    for (let round = 0; round <= rounds; round++) {
      const startedAt = performance.now();
      const service = startService({ DATA_DIR: folder, RATE_LIMITS: NO_LIMITS });
      const base = await service.baseUrl();
      if (round > 0) readyMs.push(performance.now() - startedAt);
      await countBroken(base, promises, broken);
      const agents = Array.from({ length: AGENTS }, () => agent(base, promises));
      await setTimeout(STORM_MS / 4 + Math.random() * STORM_MS);
      service.kill();
      await Promise.all([service.ended, ...agents]);
    }
  } finally {
    await remove();
  }
  return {
    title: "kill -9 of the whole service",
    measures: [
      { name: "kills", value: rounds },
      { name: "registrations acknowledged", value: promises.registered.length, least: 1 },
      { name: "acknowledged registrations lost", value: broken.registered, most: 0 },
      { name: "removals acknowledged", value: promises.removed.length, least: 1 },
      { name: "acknowledged removals undone", value: broken.removed, most: 0 },
      { name: "revocations acknowledged", value: promises.revoked.length, least: 1 },
      { name: "acknowledged revocations undone", value: broken.revoked, most: 0 },
      {
        name: "start to ready line, longest",
        unit: "ms",
        value: Math.max(...readyMs),
        most: READY_MS,
      },
    ],
  };
}

/** Registers agents in a loop until the service is killed. */
async function agent(base: string, { registered, removed, revoked }: Promises): Promise<void> {
  try {
    for (;;) {
      const client = await register(base);
      registered.push(client);
      const token = await tokenOf(base, client);
      expectStatus(await statusWith(token, base), 200);
      const revocation = await postForm(`${base}/oauth/revoke`, { token });
      expectStatus(revocation.status, 200);
      await revocation.arrayBuffer();
      revoked.push(token);
      if (registered.length % 3 !== 0) continue;
      registered.splice(registered.indexOf(client), 1);
      if (await unregister(client)) removed.push(client);
    }
  } catch (error) {
    // `fetch` throws a TypeError when the connection breaks.
    if (!(error instanceof TypeError)) throw error;
  }
}

async function unregister(client: RegisteredAgent): Promise<boolean> {
  const { status } = await fetch(client.registration_client_uri, {
    method: "DELETE",
    headers: { authorization: `Bearer ${client.registration_access_token}` },
  });
  return status === 204;
}

async function countBroken(
  base: string,
  promises: Promises,
  broken: Record<keyof Promises, number>,
): Promise<void> {
  for (const client of promises.registered) {
    if ((await tokenStatus(base, client)) !== 200) broken.registered++;
  }
  for (const client of promises.removed) {
    if ((await tokenStatus(base, client)) !== 401) broken.removed++;
  }
  for (const token of promises.revoked) {
    if ((await statusWith(token, base)) !== 401) broken.revoked++;
  }
}

async function tokenStatus(base: string, client: RegisteredAgent): Promise<number> {
  const { client_id, client_secret } = client;
  const grant = { grant_type: "client_credentials", client_id, client_secret };
  const response = await postForm(`${base}/oauth/token`, grant);
  await response.arrayBuffer();
  return response.status;
}

async function statusWith(token: string, base: string): Promise<number> {
  const response = await getWith(token, `${base}/api/signals?limit=1`);
  await response.arrayBuffer();
  return response.status;
}

function expectStatus(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`answered ${actual} instead of ${expected}`);
}
