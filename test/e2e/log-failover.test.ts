// @module-tag full

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { httpLogSource } from "../../src/cli/log-source.ts";
import { verifyLog } from "../../src/log/verify/verify-log.ts";
import { parseCheckpoint } from "../../src/tree/checkpoint.ts";
import type { KnownLog } from "../../src/tree/known-log.ts";
import { freePort } from "../support/free-port.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { type RunningProcess, startProcess, temporaryFolder } from "../support/process.ts";
import { LOOSE_LIMITS } from "../support/test-service.ts";

/**
 * Timeout and interval in milliseconds: a lease of the leader and one of the next sandbox sessions
 * must pass.
 */
const PATIENT = { timeout: 60_000, interval: 250 };

const title = postgresAvailable
  ? "the log of two machines on one database"
  : "the log of two machines on one database SKIPPED: no PostgreSQL binaries for this platform";

/** A process with its own DATA_DIR, as if on its own machine. */
class Machine {
  readonly data = temporaryFolder();
  readonly #env: Readonly<Record<string, string>>;
  #process: RunningProcess | undefined;
  base = "";

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  async start(): Promise<void> {
    const PORT = await freePort();
    this.#process = await startProcess({ ...this.#env, DATA_DIR: this.data, PORT });
    this.base = `http://127.0.0.1:${PORT}`;
  }

  /** Kills the process, as a failing machine would. */
  async fail(): Promise<void> {
    this.#process?.child.kill("SIGKILL");
    if (this.#process !== undefined) await once(this.#process.child, "exit");
  }

  async size(): Promise<number> {
    const response = await fetch(`${this.base}/log/checkpoint`);
    return response.ok ? parseCheckpoint(await response.text()).size : 0;
  }

  async leads(): Promise<boolean> {
    const { checks } = (await (await fetch(`${this.base}/readyz`)).json()) as {
      readonly checks: Readonly<Record<string, { readonly detail: string }>>;
    };
    return checks.leader?.detail === "this process leads";
  }

  /** Returns the size of the last signed checkpoint that this machine has stored. */
  kept(): number {
    const path = join(this.data, "log-head");
    return existsSync(path) ? parseCheckpoint(readFileSync(path, "utf8")).size : 0;
  }

  /** Waits until this machine leads and has signed a checkpoint beyond a size. */
  async untilSigned(beyond: number): Promise<void> {
    await vi.waitFor(async () => {
      expect(await this.leads()).toBe(true);
      expect(await this.size()).toBeGreaterThan(beyond);
    }, PATIENT);
  }

  verify = (known: KnownLog | undefined) =>
    verifyLog({ source: httpLogSource(this.base, undefined), keys: [], known, now: Date.now });
}

describe.skipIf(!postgresAvailable)(title, () => {
  it("the signal log keeps a single history, whichever process fails", async () => {
    const env = {
      DATABASE_URL: await createDatabase(),
      MASTER_KEY: randomBytes(32).toString("base64"),
      BASE_URL: "https://signals.example",
      SANDBOX_SESSION_SECONDS: "3",
      RATE_LIMITS: LOOSE_LIMITS,
    };
    const [one, other] = [new Machine(env), new Machine(env)];
    await one.start();
    await one.untilSigned(0);
    await other.start();
    // The other machine also stores each checkpoint that one machine signs.
    const before = await other.size();
    await vi.waitFor(() => expect(other.kept()).toBeGreaterThan(before), PATIENT);
    const first = await one.verify(undefined);

    await one.fail();
    await other.untilSigned(first.size ?? 0);
    const second = await other.verify(first.known);
    expect(second.checks).toContainEqual(
      expect.objectContaining({ name: "history", outcome: "proved" }),
    );

    await one.start();
    await other.fail();
    await one.untilSigned(second.size ?? 0);
    const third = await one.verify(second.known);
    expect(third.checks.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(third.checks).toContainEqual(
      expect.objectContaining({ name: "history", outcome: "proved" }),
    );
  });
});
