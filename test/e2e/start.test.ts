import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { smallDisk } from "../crash/disks.ts";
import { freePort } from "../support/free-port.ts";
import { runToEnd, spawnMain, startProcess, temporaryFolder } from "../support/process.ts";
import { createWeb } from "../support/web.ts";

/** Stops a process as soon as it has started. @returns What it wrote to standard error. */
async function saidUntilStarted(child: ChildProcess): Promise<string> {
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
    if (said.includes("Stop with Ctrl-C.")) child.kill("SIGTERM");
  });
  await once(child, "close");
  return said;
}

/**
 * Starts a process without a terminal and requests a sign-in code.
 * @returns The process's output.
 */
async function saidBy(env: Readonly<Record<string, string>>) {
  const DATA_DIR = temporaryFolder();
  const { baseUrl, child } = await startProcess({ ...env, DATA_DIR });
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  await expect.poll(() => said).toContain("Stop with Ctrl-C");
  const web = createWeb(baseUrl);
  const start = await web.get("/sign-in");
  await web.submit(start.form("/sign-in"), { email: "ada@host.example" });
  return { DATA_DIR, baseUrl, child, said: () => said };
}

describe("the process", () => {
  it("prints the URL of the home page first, then that of the API reference, and also sign-in codes when it listens only on loopback", async () => {
    const { DATA_DIR, baseUrl, said } = await saidBy({});
    await expect.poll(said).toMatch(/To: ada@host\.example[\s\S]*Your code: \w+/);
    const lines = said()
      .split("\n")
      .filter((line) => line.startsWith("  "));
    expect(lines.slice(0, 2)).toEqual([`  Home    ${baseUrl}/`, `  API     ${baseUrl}/docs/api`]);
    expect(lines).toContain(`  Data    ${DATA_DIR}`);
    expect(said()).not.toContain("Other users of this machine");
  });

  it("announces BASE_URL as its URL, reports a port that is in use, and stops on SIGTERM", async () => {
    const port = await freePort();
    const { ready, child } = await startProcess({
      PORT: port,
      BASE_URL: "https://signals.example",
    });
    expect(ready.baseUrl).toBe("https://signals.example");
    const { code, said } = await runToEnd({ PORT: port });
    expect(code).toBe(1);
    expect(said).toContain(`PORT: ${port} is taken by another process (EADDRINUSE)`);
    expect(said).toContain("set PORT or stop the other process");
    child.kill("SIGTERM");
    const [exitCode] = await once(child, "exit");
    expect(exitCode).toBe(0);
  });
});

// A checkout and the package refuse and warn alike, so these tests run on the package alone.
describe("a process that cannot start, or starts with a warning", { tags: ["full"] }, () => {
  it.each([
    [{ PORT: "99999" }, "PORT", "from 0 to 65535"],
    [{ HOST: "0.0.0.0", PORT: "0" }, "HOST", "BASE_URL"],
    [{ HOST: "0", PORT: "0" }, "HOST", "BASE_URL"],
    [{ MARKET: "files:/nowhere", PORT: "0" }, "/nowhere", "instruments.csv"],
    [{ MARKET: `files:${import.meta.filename}`, PORT: "0" }, "cannot be read", "MARKET=files:"],
    [{ HOST: "203.0.113.7", PORT: "0" }, "HOST: 203.0.113.7", "set HOST to"],
    [{ HOST: "nowhere.invalid", PORT: "0" }, "HOST: nowhere.invalid", "set HOST to"],
    [
      { DATA_DIR: "/proc/nowhere/deep", PORT: "0" },
      "/proc/nowhere/deep",
      "set DATA_DIR to another",
    ],
    [{ MARKET: "live", UNIVERSE: "/nowhere.csv", PORT: "0" }, "/nowhere.csv", "AAPL,BTC-USD"],
  ])("rejects %o and lists the allowed values", async (env, name, allowed) => {
    const { code, said } = await runToEnd(env);
    expect(code).toBe(1);
    expect(said).toContain(name);
    expect(said).toContain(allowed);
    expect(said).not.toContain("    at ");
  });

  it("names its data folder when the disk there is full", async ({ skip }) => {
    const disk = await smallDisk(64);
    if ("missing" in disk) return skip(disk.missing);
    onTestFinished(() => disk.remove());
    const { code, said } = await runToEnd({ DATA_DIR: disk.folder, PORT: "0" });
    expect(code).toBe(1);
    expect(said).toBe(
      `Cannot start: ${disk.folder} cannot be written (its disk is full); free space there, or set DATA_DIR to another folder\n`,
    );
  });

  it("warns when its disk has room for the start alone", async ({ skip }) => {
    const disk = await smallDisk(1_024);
    if ("missing" in disk) return skip(disk.missing);
    const child = spawnMain({ DATA_DIR: disk.folder, PORT: "0" });
    const said = await saidUntilStarted(child);
    await disk.remove();
    expect(said).toMatch(new RegExp(`The disk of ${disk.folder} has \\d+ kB left`));
  });

  it("prints no code when other hosts can connect", async () => {
    const { child, said } = await saidBy({ TRUST_PROXY: "1" });
    child.kill("SIGTERM");
    await once(child, "close");
    expect(said()).not.toContain("Your code");
  });

  it("warns that other users of the machine can read its data", async () => {
    const DATA_DIR = temporaryFolder();
    chmodSync(DATA_DIR, 0o755);
    const child = spawnMain({ DATA_DIR, PORT: "0" });
    expect(await saidUntilStarted(child)).toContain(
      `Other users of this machine can open ${DATA_DIR} (mode 755), which holds keys and personal data: chmod 700`,
    );
  });
});
