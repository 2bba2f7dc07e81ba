// @module-tag full

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createWebhookSender, type WebhookSender } from "../../src/alerts/delivery/sender.ts";
import {
  createSignatureHeaders,
  generateSigningSecret,
} from "../../src/alerts/delivery/signing.ts";
import { toWebhookKeySet } from "../../src/alerts/delivery/webhook-keys.ts";
import type { Key } from "../../src/keys/key-records.ts";
import { keyUses } from "../../src/keys/key-uses.ts";
import { createWebhookPolicy } from "../../src/outbound/webhook-policy.ts";
import { freePort } from "../support/free-port.ts";
import { listenLocally } from "../support/local-server.ts";
import { temporaryFolder } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const [secret, other] = [generateSigningSecret(), generateSigningSecret()];

function newKey(): Key<"webhook-signing"> {
  const jwk = { ...keyUses["webhook-signing"].generate(), kid: "1" };
  return { kid: "1", createdAt: 0, retiredAt: null, jwk };
}
const key = newKey();

/** A child process and its output. */
interface Running {
  readonly child: ChildProcess;
  /** Everything printed so far to standard output and standard error. */
  said(): string;
  /** Waits until the output contains a text. @returns The whole output. */
  says(wanted: string | RegExp): Promise<string>;
}

/** Starts a program, which stops when the test ends. */
function start(
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Running {
  const env = { PATH: process.env.PATH ?? "", ...options.env };
  const child = spawn(process.execPath, args, { ...options, env });
  onTestFinished(() => void child.kill());
  let text = "";
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      child.emit("said");
    });
  }
  return {
    child,
    said: () => text,
    async says(wanted) {
      while (!(typeof wanted === "string" ? text.includes(wanted) : wanted.test(text))) {
        if (child.exitCode !== null) throw new Error(`ended after: ${text}`);
        await Promise.race([once(child, "said"), once(child, "close")]);
      }
      return text;
    },
  };
}

/** Starts `market-signal listen` on a free port. */
async function listen(...args: readonly string[]) {
  const running = start([PROGRAM, "listen", "--port", "0", ...args], {
    cwd: ROOT,
  });
  const [, url = ""] = /Listening on (\S+);/.exec(await running.says("Ctrl-C")) ?? [];
  return { ...running, url };
}

/** Opens the webhook sender of the service as it is with ALLOW_INSECURE_WEBHOOKS=1. */
function openSender(): WebhookSender {
  const policy = createWebhookPolicy({ allowsInsecure: true, warn: () => undefined });
  const sender = createWebhookSender({ ...policy, now: Date.now });
  onTestFinished(() => sender.close());
  return sender;
}

interface Sent {
  readonly id?: string;
  readonly at?: number;
  readonly type?: string;
  readonly data?: object;
  readonly secrets?: readonly string[];
  readonly keys?: readonly Key<"webhook-signing">[];
}

/** Sends a signed delivery as the service does. */
function deliver(url: string, sent: Sent = {}) {
  const { id = "msg_1", at = Date.now(), secrets = [secret], keys = [key] } = sent;
  const { type = "signal.shift", data = SHIFT } = sent;
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  const jwks = keys.map(({ jwk }) => jwk);
  const headers = createSignatureHeaders({ id, at, body, secrets, keys: jwks });
  return openSender().send({ url, headers, body });
}

const SHIFT = {
  symbol: "ALDER.SIM",
  sequence: 3,
  previousSignal: "WAIT",
  signal: "LONG",
  previousScore: 58,
  score: 71,
};

/** Matches an output line: time of day, answered status, and the rest. */
const line = (status: number, rest: string) =>
  new RegExp(`^\\d\\d:\\d\\d:\\d\\d {2}${status} {2}${rest.replaceAll(/ +/g, " +")}$`, "m");

describe("market-signal listen", () => {
  it("answers the challenge, then verifies deliveries with the entered secret", async () => {
    const { url, says, child } = await listen();
    expect(await says("whsec_")).toContain(`"url": "${url}"`);
    const challenge = { alertId: "alert_1", challenge: "sing" };
    const asked = await deliver(url, { id: "msg_0", type: "endpoint.verify", data: challenge });
    expect(asked).toMatchObject({ status: 200, body: '{"challenge":"sing"}' });
    await says(line(200, "NOT VERIFIED, no secret new endpoint\\.verify challenge answered"));

    child.stdin?.write("whsec_short\n");
    await says("That is no signing secret");
    child.stdin?.write(`${secret}\n`);
    await says("The secret is taken");
    expect(await deliver(url)).toMatchObject({ status: 204, body: "" });
    await says(
      line(204, "verified v1 new signal\\.shift ALDER\\.SIM #3 WAIT -> LONG score 58 -> 71"),
    );
    await deliver(url);
    await says(line(204, "verified v1 duplicate signal\\.shift ALDER\\.SIM #3 .*"));
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("rejects unsigned, modified and old deliveries", async () => {
    const { url, says, said } = await listen("--secret", secret);
    expect(said()).not.toContain("There is no secret yet");
    const forged = await deliver(url, { secrets: [other] });
    expect(forged).toMatchObject({ status: 401, body: '{"error":"not verified"}' });
    const verify = { type: "endpoint.verify", data: { challenge: "sing" }, secrets: [other] };
    expect((await deliver(url, verify)).body).not.toContain("sing");
    await says(line(401, "NOT VERIFIED"));
    expect((await deliver(url, { at: Date.now() - 600_000 })).status).toBe(401);
    await says(line(401, "NOT VERIFIED, old"));
    expect((await fetch(url, { method: "POST", body: "{" })).status).toBe(401);
    expect((await fetch(url)).status).toBe(405);
    // A rejected delivery does not make a later delivery with the same id a duplicate.
    await deliver(url);
    await says(line(204, "verified v1 new signal\\.shift .*"));
  });

  it("also verifies deliveries with the published keys", async () => {
    const service = createServer((req, res) => {
      const isThere = req.url === "/.well-known/webhook-keys.json";
      res.writeHead(isThere ? 200 : 404).end(JSON.stringify(toWebhookKeySet([key])));
    });
    const base = await listenLocally(service);
    onTestFinished(() => void service.close());
    const { url, says } = await listen("--keys", base, "--secret", secret);
    await deliver(url, { id: "msg_1" });
    await says(line(204, "verified v1 v1a new .*"));
    await deliver(url, { id: "msg_2", secrets: [other] });
    await says(line(204, "verified v1a new .*"));
    expect((await deliver(url, { keys: [newKey()], secrets: [other] })).status).toBe(401);
  });

  it("answers deliveries with the requested error status, but still completes the challenge", async () => {
    const { url, says } = await listen("--secret", secret, "--fail", "503");
    expect((await deliver(url)).status).toBe(503);
    await says(line(503, "verified v1 new .*"));
    expect((await deliver(url)).status).toBe(503);
    await says(line(503, "verified v1 duplicate .*"));
    const challenge = { type: "endpoint.verify", data: { challenge: "sing" } };
    expect((await deliver(url, challenge)).status).toBe(200);
  });

  it("shows volatility events and test deliveries, and no more than the beginning of a type", async () => {
    const { url, says } = await listen("--secret", secret);
    const data = {
      symbol: "BTC-USD",
      sequence: 1,
      signal: "LONG",
      severity: "high",
      z: 3.2,
      score: 70,
    };
    await deliver(url, { type: "volatility.alert", data });
    await says(
      line(204, "verified v1 new volatility\\.alert BTC-USD #1 LONG high z 3\\.2 score 70"),
    );
    await deliver(url, { id: "msg_2", type: "webhook.test", data: {} });
    await says(line(204, "verified v1 new webhook\\.test"));
    await deliver(url, { id: "msg_3", type: "x".repeat(10_000) });
    await says(/ x{40} /);
  });

  it("rejects a body that is not a delivery", async () => {
    const { url, says } = await listen();
    for (const body of [
      "{",
      "[]",
      '{"type":"a"}',
      '{"type":1,"data":{}}',
      '{"type":"a","data":[]}',
    ]) {
      expect((await fetch(url, { method: "POST", body })).status, body).toBe(400);
    }
    await says(line(400, "NOT VERIFIED, no secret"));
    const large = fetch(url, { method: "POST", body: "a".repeat(100_000) });
    await expect(large).rejects.toThrow();
  });

  it("prints its usage, and explains startup errors", async () => {
    const help = start([PROGRAM, "listen", "--help"], { cwd: ROOT });
    expect(await once(help.child, "close")).toEqual([0, null]);
    expect(help.said()).toContain("market-signal listen [options]");
    const wrong = start([PROGRAM, "listen", "--secret", "hunter2"], { cwd: ROOT });
    expect(await once(wrong.child, "close")).toEqual([2, null]);
    expect(wrong.said()).toContain("--secret: is not whsec_");
    expect(wrong.said()).toContain("market-signal --help says more.");
    expect(wrong.said()).not.toContain("hunter2");
    const { url } = await listen();
    const taken = start([PROGRAM, "listen", "--port", new URL(url).port], {
      cwd: ROOT,
    });
    expect(await once(taken.child, "close")).toEqual([1, null]);
    expect(taken.said()).toContain("EADDRINUSE");
    const keyless = start([PROGRAM, "listen", "--keys", url], { cwd: ROOT });
    expect(await once(keyless.child, "close")).toEqual([1, null]);
    expect(keyless.said()).toContain(`there are no keys at ${url}.well-known/webhook-keys.json`);
  });
});

describe("the receiver in docs/alerts.md", () => {
  /** Runs the receiver's code unchanged from docs/alerts.md. */
  async function startReceiver() {
    const text = readFileSync(join(ROOT, "docs/alerts.md"), "utf8");
    const [, section = ""] = /^## A receiver\n(.*?)^## /ms.exec(text) ?? [];
    const [, code = ""] = /^```js\n(.*?)^```$/ms.exec(section) ?? [];
    const folder = temporaryFolder();
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "receiver.mjs"), code);
    const port = await freePort();
    const env = { PORT: port, WEBHOOK_SECRET: secret };
    const running = start(["receiver.mjs"], { cwd: folder, env });
    const url = `http://127.0.0.1:${port}/`;
    await expect.poll(() => fetch(url).then(({ status }) => status, String)).toBe(400);
    return { ...running, code, url };
  }

  it("has 16 lines, accepts a real delivery once, and answers the challenge", async () => {
    const { code, url, said, says } = await startReceiver();
    expect(code.trim().split("\n")).toHaveLength(16);
    const data = { challenge: "sing" };
    const asked = await deliver(url, { id: "msg_1", type: "endpoint.verify", data });
    expect(asked).toMatchObject({ status: 200, body: "sing" });
    expect((await deliver(url, { id: "msg_2", secrets: [other, secret] })).status).toBe(204);
    expect((await deliver(url, { id: "msg_2" })).status).toBe(204);
    expect((await deliver(url, { id: "msg_3", secrets: [other] })).status).toBe(400);
    const long = await deliver(url, { id: "msg_3", data: { symbol: "A".repeat(1_000_000) } });
    expect(long.status).toBe(400);
    expect((await deliver(url, { id: "msg_4", at: Date.now() - 600_000 })).status).toBe(400);
    expect((await deliver(url, { id: "msg_5", data: { ...SHIFT, sequence: 4 } })).status).toBe(204);
    await says("4 LONG");
    expect(said()).toBe("signal.shift ALDER.SIM 3 LONG\nsignal.shift ALDER.SIM 4 LONG\n");
  });
});
