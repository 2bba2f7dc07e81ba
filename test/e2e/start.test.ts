import { once } from "node:events";
import { chmodSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  freePort,
  runToEnd,
  spawnMain,
  startProcess,
  temporaryFolder,
} from "../support/process.ts";
import { createWeb } from "../support/web.ts";

describe("the process", () => {
  it.each([
    [{ PORT: "99999" }, "PORT", "from 0 to 65535"],
    [{ HOST: "0.0.0.0", PORT: "0" }, "HOST", "BASE_URL"],
    [{ HOST: "0", PORT: "0" }, "HOST", "BASE_URL"],
    [{ MARKET: "files:/nowhere", PORT: "0" }, "/nowhere", "instruments.csv"],
    [{ MARKET: "live", UNIVERSE: "/nowhere.csv", PORT: "0" }, "/nowhere.csv", "AAPL,BTC-USD"],
  ])("rejects %o and lists the allowed values", async (env, name, allowed) => {
    const { code, said } = await runToEnd(env);
    expect(code).toBe(1);
    expect(said).toContain(name);
    expect(said).toContain(allowed);
    expect(said).not.toContain("    at ");
  });

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
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += chunk;
      if (said.includes("Stop with Ctrl-C.")) child.kill("SIGTERM");
    });
    await once(child, "close");
    expect(said).toContain(
      `Other users of this machine can open ${DATA_DIR} (mode 755), which holds keys and personal data: chmod 700`,
    );
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
