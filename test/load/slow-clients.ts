import { setTimeout as pause } from "node:timers/promises";
import { newToken, register } from "../support/agent.ts";
import { rawGet, rawPost } from "./mix.ts";
import { median, quantile } from "./numbers.ts";
import { watchHealth } from "./offered.ts";
import { startLoaded } from "./service.ts";
import { dripBytes, type HostileSocket, openSockets } from "./sockets.ts";

/*
 * Clients that send little, slowly, nothing, or far too much. For each kind, measures how long the
 * event loop is blocked, whether the service still answers, and whether it releases all resources.
 */

const IDLE = Number(process.env.IDLE ?? 10_000);
const SLOW = 500;
const RUDE = 200;

/** Pause between two bytes of a slow client, in milliseconds. */
const DRIP_MS = 500;

/** Maximum wait in milliseconds, longer than any timeout of the server. */
const LONGEST_MS = 45_000;

const service = await startLoaded();
const { port, baseUrl, usage } = service;
try {
  const token = await newToken(baseUrl, { resource: `${baseUrl}/mcp` });
  const own = await register(baseUrl);
  await warmUp();
  await stage(`${SLOW} dripping headers`, SLOW, (one) =>
    dripBytes(one, "GET / HTTP/1.1\r\nX-A: ", DRIP_MS),
  );
  await stage(`${SLOW} dripping bodies`, SLOW, (one) =>
    dripBytes(one, beginning(token, own.client_id), DRIP_MS),
  );
  await stage(`${IDLE} sending nothing`, IDLE, () => {});
  await stage(`${IDLE} idle after a request`, IDLE, ({ socket }) => {
    socket.write(rawGet("/api/health"));
  });
  await stage(`${RUDE} sending 1 MB of headers`, RUDE, ({ socket }) => {
    socket.write(`GET / HTTP/1.1\r\n${`X-A: ${"a".repeat(1000)}\r\n`.repeat(1000)}\r\n`);
  });
  const [deep, wide] = [nested(64), `[${"{},".repeat(30_000)}{}]`];
  await stage(`${RUDE} sending JSON 64 levels deep`, RUDE, send("/mcp", deep, token));
  await stage(`${RUDE} sending a JSON list of 30,000 items`, RUDE, send("/mcp", wide, token));
  await stage(
    `${RUDE} registering with JSON 64 levels deep`,
    RUDE,
    send("/oauth/register", deep, token),
  );
} finally {
  await service.stop();
}

/** Sends requests until all one-time allocations are made, so that they do not look like leaks. */
async function warmUp(): Promise<void> {
  for (let time = 0; time < 200; time++) await fetch(`${baseUrl}/api/health`).then((a) => a.text());
  await service.loopDelay();
}

function beginning(token: string, clientId: string): string {
  const body = `${JSON.stringify({ jsonrpc: "2.0", id: clientId })}${" ".repeat(9_000)}`;
  const whole = rawPost("/mcp", body, {
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/json",
  });
  return whole.toString().slice(0, -9_000);
}

function send(path: string, body: string, token: string): (one: HostileSocket) => void {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const request = rawPost(path, body, {
    ...headers,
    Accept: "application/json, text/event-stream",
  });
  return ({ socket }) => void socket.write(request);
}

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
}

async function stage(
  name: string,
  count: number,
  act: (one: HostileSocket) => void,
): Promise<void> {
  const before = usage();
  const health = watchHealth(port);
  await service.loopDelay();
  const hostile = await openSockets(port, count);
  for (const one of hostile) act(one);
  await pause(1_000);
  const during = usage();
  const all = Promise.all(hostile.map(({ lasted }) => lasted));
  const lasted = await Promise.race([all, pause(LONGEST_MS).then(() => [Number.NaN])]);
  const delay = await service.loopDelay();
  const times = await health.stop();
  await pause(1_500);
  const after = usage();
  say(name, {
    statuses: statusesOf(hostile),
    lastedSeconds: `${seconds(median(lasted))} to ${seconds(Math.max(...lasted))}`,
    loopP99Ms: delay.p99Ms.toFixed(1),
    loopMaxMs: delay.maxMs.toFixed(1),
    healthP99Ms: quantile(times, 0.99).toFixed(1),
    cpuMs: after.cpuMs - before.cpuMs,
    rssMb: [before, during, after].map(({ rssMb }) => rssMb.toFixed(0)).join(" "),
    files: [before, during, after].map(({ files }) => files).join(" "),
  });
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function statusesOf(hostile: readonly HostileSocket[]): string {
  const statuses = Object.groupBy(hostile, (one) => one.said().slice(9, 12) || "none");
  return Object.entries(statuses)
    .map(([status, some]) => `${some?.length} x ${status}`)
    .join(", ");
}

function say(name: string, figures: Readonly<Record<string, string | number>>): void {
  const text = Object.entries(figures).map(([key, value]) => `  ${key} ${value}`);
  process.stdout.write(`${name}\n${text.join("\n")}\n`);
}
