// @module-tag full

import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { admin } from "../support/admin.ts";
import { getWith, postJson, register, tokenOf } from "../support/agent.ts";
import { freePort } from "../support/free-port.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";

const DATA_DIR = temporaryFolder();
const METRICS_PORT = await freePort();
const { baseUrl, child } = await startProcess({
  ...{ DATA_DIR, METRICS_PORT, LOG_LEVEL: "debug", RATE_LIMITS: "submissions=0/0/0" },
});

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly requestId?: string;
  readonly route?: string;
  readonly [member: string]: unknown;
}

const lines: Line[] = [];
createInterface({ input: child.stderr ?? process.stdin }).on("line", (text) => {
  if (text.startsWith("{")) lines.push(JSON.parse(text) as Line);
});

/** Returns the log line of a request. */
async function lineOf(requestId: string): Promise<Line> {
  const find = () => lines.find((line) => line.msg === "request" && line.requestId === requestId);
  await expect.poll(find).toBeDefined();
  return find() as Line;
}

/** Returns the metric samples of the service, by name and labels. */
async function samples(): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
  const own = text.split("\n").filter((line) => line.startsWith("market_signal_"));
  return Object.fromEntries(
    own.map((line) => [line.replace(/ \S+$/, ""), Number(line.split(" ").at(-1))]),
  );
}

const agent = await register(baseUrl);
const token = await tokenOf(baseUrl, agent);

describe("the request id", () => {
  it.each([
    ["GET", "/api/health", 200],
    ["GET", "/", 200],
    ["GET", "/.well-known/jwks.json", 200],
    ["GET", "/oauth/authorize?client_id=none", 400],
    ["POST", "/oauth/token", 400],
    ["POST", "/oauth/revoke", 400],
    ["GET", "/oauth/register/none", 401],
    ["GET", "/api/signals", 401],
    ["POST", "/mcp", 401],
    ["PUT", "/api/signals", 405],
    ["GET", "/nowhere", 404],
    ["OPTIONS", "/oauth/token", 204],
  ])("is in the answer to %s %s", async (method, path, status) => {
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const init = method === "POST" ? { method, headers: form } : { method };
    const answer = await fetch(baseUrl + path, { ...init, redirect: "manual" });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("is taken from the caller when it is valid, and appears in the problem document and the log", async () => {
    const answer = await fetch(`${baseUrl}/nowhere`, { headers: { "x-request-id": "mine.1" } });
    expect(answer.headers.get("x-request-id")).toBe("mine.1");
    expect(await answer.json()).toMatchObject({ code: "not_found", requestId: "mine.1" });
    expect(await lineOf("mine.1")).toMatchObject({ route: "unmatched", status: 404 });
    const odd = await fetch(`${baseUrl}/nowhere`, { headers: { "x-request-id": "a b" } });
    expect(odd.headers.get("x-request-id")).not.toBe("a b");
  });
});

describe("the log line of a request", () => {
  it("contains the route, the caller and the duration", async () => {
    const url = `${baseUrl}/api/signals?symbol=ALDER.SIM`;
    const headers = { authorization: `Bearer ${token}`, "x-request-id": "line-1" };
    expect((await fetch(url, { headers })).status).toBe(200);
    expect(await lineOf("line-1")).toEqual({
      ...{ level: 20, time: expect.any(String), pid: child.pid, msg: "request" },
      ...{ requestId: "line-1", method: "GET", route: "/api/signals", status: 200 },
      ...{ durationMs: expect.any(Number), clientId: agent.client_id },
    });
  });

  it("contains neither the path nor the query", async () => {
    await fetch(`${baseUrl}/oauth/register/${agent.client_id}?token=planted`, {
      headers: { "x-request-id": "line-2" },
    });
    const line = await lineOf("line-2");
    expect(line.route).toBe("/oauth/register/:clientId");
    expect(JSON.stringify(line)).not.toMatch(/planted/);
  });
});

describe("metrics", () => {
  it("label requests by route, however many different paths are requested", async () => {
    for (let at = 0; at < 20; at++) await fetch(`${baseUrl}/tried-${at}?q=${at}`);
    const name = "market_signal_http_request_duration_seconds_count";
    await expect
      .poll(async () => (await samples())[`${name}{method="GET",route="unmatched",status="4xx"}`])
      .toBeGreaterThanOrEqual(20);
    expect(Object.keys(await samples()).join("\n")).not.toMatch(/tried/);
  });

  it("count tool calls by outcome, and rejections by limit", async () => {
    await getWith(token, `${baseUrl}/api/signals?symbol=NONE.SIM`);
    const inquiry = { email: "ada@example.com", message: "Hello" };
    expect((await postJson(`${baseUrl}/api/contact`, inquiry)).status).toBe(429);
    const found = await samples();
    const calls = "market_signal_tool_call_duration_seconds_count";
    expect(found[`${calls}{tool="get_signal",outcome="unknown_symbol"}`]).toBe(1);
    expect(found[`${calls}{tool="get_signal",outcome="ok"}`]).toBeGreaterThanOrEqual(1);
    expect(found['market_signal_limit_denials_total{quota="submissions"}']).toBe(1);
    expect(found.market_signal_leader).toBe(1);
    expect(found.market_signal_agents_evicted_total).toBe(0);
    expect(found.market_signal_agents_refused_total).toBe(0);
    expect(found.market_signal_store_records).toBeGreaterThan(0);
  });

  it("are served only at one path", async () => {
    expect((await fetch(`http://127.0.0.1:${METRICS_PORT}/`)).status).toBe(404);
    expect((await fetch(`${baseUrl}/metrics`)).status).toBe(404);
  });
});

describe("the status command", () => {
  const ask = async (...more: readonly string[]) => {
    const { code, out, error } = await admin({ DATA_DIR }, "status", ...more);
    expect(error).toBe("");
    expect(code).toBe(0);
    return out;
  };

  it("shows the state of a running server, as text and as JSON", async () => {
    const text = await ask();
    expect(text).toMatch(/^Server {4}version 1\.0\.0\+\S+, up \d+ s, leads$/m);
    expect(text).toMatch(/^Market {4}sandbox, as of \S+Z, \d+ s ago, \d+ instruments$/m);
    expect(text).toMatch(/^Limits {4}refused since the start: submissions 1$/m);
    expect(text).toMatch(/^Queue {5}0 deliveries wait, 0 are due$/m);
    expect(text).toContain("A server runs and answered.");
    expect(JSON.parse(await ask("--json"))).toMatchObject({
      ...{ answeredBy: "server", engine: "embedded", mode: "sandbox" },
      queue: { waiting: 0, due: 0, oldestDueMs: 0 },
      alerts: { active: 0, polled: 0, pending: 0, disabled: 0 },
      server: { isLeader: true, shed: 0, lastErrors: [], denials: { submissions: 1 } },
    });
  });

  it("shows the content of the store when no server runs", async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
    const text = await ask();
    expect(text).toContain("No server answered.");
    expect(text).toMatch(/^Store {5}\S+, embedded, mode sandbox: [\d,]+ records and /m);
    expect(text).not.toMatch(/^Server/m);
    expect(JSON.parse(await ask("--json"))).toMatchObject({ answeredBy: "command" });
  });
});
