// @module-tag full

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, vi } from "vitest";
import { hashLogOrigin } from "../../src/log/witness/add-checkpoint-request.ts";
import { cosignaturesOf } from "../../src/log/witness/cosignature.ts";
import { WitnessPolicy } from "../../src/log/witness/policy.ts";
import { parseCheckpoint } from "../../src/tree/checkpoint.ts";
import { atFileEnd } from "../support/file-end.ts";
import { freePort } from "../support/free-port.ts";
import { type RunningProcess, startProcess, temporaryFolder } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { LOOSE_LIMITS } from "../support/test-service.ts";
import { textOf } from "../support/web.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** Timeout and interval in milliseconds for results that need one of the next sandbox sessions. */
const PATIENT = { timeout: 120_000, interval: 250 };

const SESSION_SECONDS = "3";

/** Starts the command line in a separate process. */
const spawnCli = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawn(process.execPath, [PROGRAM, ...argv], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });

/** Runs the command line to completion. */
async function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawnCli(argv, env);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      text += chunk;
    });
  }
  const [exitCode] = await once(child, "close");
  return { exitCode, text };
}

async function end(child: ChildProcess): Promise<void> {
  if ((child.exitCode ?? child.signalCode) !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

/** An operator, who runs a service and a witness for another operator's log. */
class Operator {
  readonly name: string;
  readonly base: string;
  readonly folder = temporaryFolder();
  readonly data = join(this.folder, "data");
  readonly policyFile = join(this.folder, "policy.txt");
  policy = new WitnessPolicy("quorum none");
  /** Output of the witness. */
  said = "";
  readonly #env: Readonly<Record<string, string>>;
  readonly #witnessPort: string;
  #service: RunningProcess | undefined;
  #witness: ChildProcess | undefined;

  readonly #metricsPort: string;

  private constructor(
    name: string,
    ports: { readonly service: string; readonly witness: string; readonly metrics: string },
  ) {
    this.name = name;
    this.base = `http://127.0.0.1:${ports.service}`;
    this.#witnessPort = ports.witness;
    this.#metricsPort = ports.metrics;
    this.#env = {
      DATA_DIR: this.data,
      PORT: ports.service,
      METRICS_PORT: ports.metrics,
      SANDBOX_SESSION_SECONDS: SESSION_SECONDS,
      RATE_LIMITS: LOOSE_LIMITS,
    };
  }

  static async open(name: string): Promise<Operator> {
    const [service, witness, metrics] = [await freePort(), await freePort(), await freePort()];
    return new Operator(name, { service, witness, metrics });
  }

  /** Starts the service. @param isWitnessed Whether its policy requires witnesses. */
  async start(isWitnessed: boolean): Promise<void> {
    const witnesses = isWitnessed ? { WITNESSES: this.policyFile } : {};
    this.#service = await startProcess({ ...this.#env, ...witnesses });
  }

  async stop(): Promise<void> {
    if (this.#service !== undefined) await end(this.#service.child);
  }

  /** Restarts the witness for these logs. @returns The witness's key. */
  async watch(keys: readonly string[]): Promise<string> {
    if (this.#witness !== undefined) await end(this.#witness);
    const logs = join(this.folder, "logs.txt");
    writeFileSync(logs, `${keys.map((key) => `log ${key}\n`).join("")}quorum none\n`);
    const witness = spawnCli([
      ...["witness", join(this.folder, "witness"), "--name", `${this.name}.example/w`],
      ...["--logs", logs, "--port", this.#witnessPort],
    ]);
    this.#witness = witness;
    atFileEnd(() => end(witness));
    const lines = createInterface({ input: witness.stdout });
    const key = new Promise<string>((found) => {
      lines.on("line", (line) => {
        this.said += `${line}\n`;
        if (line.startsWith("Key: ")) found(line.slice("Key: ".length));
      });
    });
    let complaint = "";
    witness.stderr.on("data", (chunk) => {
      complaint += chunk;
    });
    const ended = once(witness, "close").then(() => Promise.reject(new Error(complaint)));
    return Promise.race([key, ended]);
  }

  /** Writes the policy file: this operator's log, and the other operator's witness. */
  trust(other: Operator, key: string, keys: readonly string[]): void {
    const logs = keys.map((one) => `log ${one}\n`).join("");
    const witness = `witness ${other.name} ${key} http://127.0.0.1:${other.#witnessPort}\n`;
    const text = `${logs}${witness}quorum ${other.name}\n`;
    writeFileSync(this.policyFile, text);
    this.policy = new WitnessPolicy(text);
  }

  async keys(): Promise<readonly string[]> {
    const response = await fetch(`${this.base}/log/keys`);
    if (!response.ok) throw new Error(`the keys answer ${response.status}`);
    return (await response.text()).trim().split("\n");
  }

  /** Fetches the served checkpoint; `undefined` if there is none. */
  async checkpoint() {
    const response = await fetch(`${this.base}/log/checkpoint`);
    return response.ok ? parseCheckpoint(await response.text()) : undefined;
  }

  /** Size up to which the witness has cosigned the log of a policy, in entries. */
  async cosignedOf({ logs: [log] }: WitnessPolicy): Promise<number> {
    const hash = hashLogOrigin(log?.verifier.name ?? "");
    const held = await fetch(`http://127.0.0.1:${this.#witnessPort}/${hash}/checkpoint`);
    return parseCheckpoint(await held.text()).size;
  }

  /** Waits for a checkpoint beyond a size. @returns The size of the checkpoint. */
  async untilBeyond(size: number, origin?: string): Promise<number> {
    let found = 0;
    await vi.waitFor(async () => {
      const checkpoint = await this.checkpoint();
      if (origin !== undefined) expect(checkpoint?.origin).not.toBe(origin);
      found = checkpoint?.size ?? 0;
      expect(found).toBeGreaterThan(size);
    }, PATIENT);
    return found;
  }

  /** Waits until the service reports why it does not sign. */
  async untilRefused(reason: RegExp): Promise<void> {
    await vi.waitFor(async () => {
      const ready = (await (await fetch(`${this.base}/readyz`)).json()) as Ready;
      expect(ready.checks.log).toEqual({ ok: false, detail: expect.stringMatching(reason) });
      expect(ready.status).toBe("degraded");
    }, PATIENT);
    const health = await this.health();
    expect(health.status).toBe("degraded");
    expect(health.reasons).toContainEqual(expect.stringMatching(reason));
    const page = await fetch(this.base, { headers: { accept: "text/html" } });
    expect(textOf(await page.text())).toMatch(reason);
  }

  async health(): Promise<Health> {
    return (await (await fetch(`${this.base}/api/health`)).json()) as Health;
  }

  /** Verifies the log as a third party that trusts the other operator's witness. */
  verify() {
    return run(["verify", this.base, "--policy", this.policyFile]);
  }

  /** Runs a command on the store of the service. @returns Its output. */
  async command(...argv: readonly string[]): Promise<string> {
    const { exitCode, text } = await run(argv, this.#env);
    expect({ argv, exitCode, text }).toMatchObject({ exitCode: 0 });
    return text;
  }

  /** Fetches a metric without labels; `undefined` if it is absent. */
  async metric(name: string): Promise<number | undefined> {
    const text = await (await fetch(`http://127.0.0.1:${this.#metricsPort}/metrics`)).text();
    const value = new RegExp(`^market_signal_${name} (.+)$`, "m").exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  }
}

interface Ready {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>;
}

interface Health {
  readonly status: string;
  readonly reasons?: readonly string[];
}

/** Starts two operators whose witnesses watch each other's log. */
async function twoOperators(): Promise<readonly [Operator, Operator]> {
  const both = await Promise.all([Operator.open("north"), Operator.open("south")]);
  const [north, south] = both;
  await Promise.all(both.map((one) => one.start(false)));
  const [northern, southern] = await Promise.all(both.map((one) => one.keys()));
  if (northern === undefined || southern === undefined) throw new Error("there are no keys");
  north.trust(south, await south.watch(northern), northern);
  south.trust(north, await north.watch(southern), southern);
  await Promise.all(both.map((one) => one.stop()));
  await Promise.all(both.map((one) => one.start(true)));
  return both;
}

describe("two instances that witness each other", async () => {
  const [north, south] = await twoOperators();

  it("serve checkpoints that the other instance has cosigned and a third party can verify", async () => {
    for (const one of [north, south]) {
      const size = (await one.checkpoint())?.size ?? 0;
      await one.untilBeyond(size);
      const note = (await one.checkpoint())?.note;
      expect(note && cosignaturesOf(note, one.policy.verifiers)).toHaveLength(1);
      const { exitCode, text } = await one.verify();
      expect(text).toMatch(/^proved +witnesses +1 of 1 witnesses cosigned the checkpoint/m);
      expect({ exitCode, text }).toMatchObject({ exitCode: 2 });
    }
  });

  it("sign nothing after a backup was restored, until the operator starts a new log", async () => {
    const backup = join(north.folder, "backup");
    expect(await north.metric("backup_age_seconds")).toBeUndefined();
    await north.command("store", "backup", backup);
    expect(await north.metric("backup_age_seconds")).toBeGreaterThanOrEqual(0);
    const { origin, size } = (await north.checkpoint()) ?? { origin: "", size: 0 };
    const seen = await north.untilBeyond(size);
    const state = join(north.folder, "seen.json");
    await run(["verify", north.base, "--state", state]);
    await north.stop();
    const reason = /not be signed: \d+ leaves were signed and the store has \d+\.\n.*admin log new/;
    expect(await north.command("store", "restore", backup, "--yes")).toMatch(reason);
    await north.start(true);
    await north.untilRefused(/not signed: \d+ leaves were signed and the store has \d+/);
    expect((await north.checkpoint())?.size).toBeLessThanOrEqual(size);
    expect(await north.command("admin", "status")).toMatch(/^Log .*NOT SIGNED: .*admin log new/m);
    expect(await north.metric("log_signed")).toBe(0);

    // Repeats the check on another machine, which has no log-head file.
    await north.stop();
    rmSync(join(north.data, "log-head"));
    await north.start(true);
    await north.untilRefused(/not signed: log-head is missing in DATA_DIR/);

    await north.command("admin", "log", "new", "--yes");
    await vi.waitFor(async () => expect((await north.keys())[0]).not.toContain(origin), PATIENT);
    const keys = await north.keys();
    north.trust(south, await south.watch(keys), keys);
    await north.untilBeyond(0, origin);
    await vi.waitFor(async () => expect((await north.health()).status).toBe("ok"), PATIENT);
    const { text } = await north.verify();
    expect(text).toMatch(/^proved +witnesses/m);
    expect(text).not.toContain("FAILED");
    expect(await north.command("admin", "status")).toMatch(/^Log .*, signed \d+ s ago$/m);
    expect(await north.command("admin", "status")).toMatch(/^Backup +the last \d+ s ago/m);
    expect(await north.metric("log_signed")).toBe(1);
    // Who looked before the restore is told how much of what was seen is gone.
    const later = await run(["verify", north.base, "--state", state]);
    const gap =
      /^FAILED +history +it takes the place .* names (\d+) entries as its last: (\d+) were seen, so the last (\d+) of them were lost or withdrawn$/m;
    const [, kept, looked, lost] = gap.exec(later.text) ?? [];
    expect(later.text).toMatch(gap);
    expect(Number(looked)).toBeGreaterThanOrEqual(seen);
    expect(Number(lost)).toBe(Number(looked) - Number(kept));
    expect(later.exitCode).toBe(1);
  });

  it("reject a fork of the other instance's log, which the verifier, the status and the page then report", async () => {
    await south.stop();
    const snapshot = join(south.folder, "snapshot");
    cpSync(south.data, snapshot, { recursive: true });
    await south.start(true);
    const { size } = parseCheckpoint(readFileSync(join(snapshot, "log-head"), "utf8"));
    await south.untilBeyond(size);
    await south.stop();
    const cosigned = await north.cosignedOf(south.policy);
    expect(cosigned).toBeGreaterThan(size);

    // Restores the whole machine from a snapshot, so that it signs without asking its witness.
    rmSync(south.data, { recursive: true });
    cpSync(snapshot, south.data, { recursive: true });
    await south.start(false);
    await south.untilBeyond(cosigned);
    const { exitCode, text } = await south.verify();
    expect(text).toMatch(
      /^FAILED {6}history +the first \d+ entries are not those seen at .* by the witness north$/m,
    );
    expect(exitCode).toBe(1);

    await south.stop();
    await south.start(true);
    await south.untilRefused(
      /not signed: the witness north has a checkpoint that was signed here: the first \d+ leaves/,
    );
    expect(north.said).toContain("CONTRADICTION: not cosigned");
  });
});
