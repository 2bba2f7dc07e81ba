import { once } from "node:events";
import { chmodSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runToEnd, spawnMain, startProcess, temporaryFolder } from "../support/process.ts";
import { createWeb } from "../support/web.ts";

describe("the process", () => {
  it.each([
    [{ PORT: "99999" }, "PORT", "from 0 to 65535"],
    [{ HOST: "0.0.0.0", PORT: "0" }, "HOST", "BASE_URL"],
    [{ HOST: "0", PORT: "0" }, "HOST", "BASE_URL"],
    [{ MARKET: "files:/nowhere", PORT: "0" }, "/nowhere", "instruments.csv"],
    [{ MARKET: "live", UNIVERSE: "/nowhere.csv", PORT: "0" }, "/nowhere.csv", "AAPL,BTC-USD"],
  ])("rejects %o with the allowed values", async (env, name, allowed) => {
    const { code, said } = await runToEnd(env);
    expect(code).toBe(1);
    expect(said).toContain(name);
    expect(said).toContain(allowed);
    expect(said).not.toContain("    at ");
  });

  it("reports that its port is in use, and what to do", async () => {
    const { baseUrl } = await startProcess();
    const { port } = new URL(baseUrl);
    const { code, said } = await runToEnd({ PORT: port });
    expect(code).toBe(1);
    expect(said).toContain(`PORT: ${port} is taken by another process (EADDRINUSE)`);
    expect(said).toContain("set PORT or stop the other process");
  });

  /** Starts a process without a terminal and asks it for a sign-in code. */
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

  it("prints the home page first, then the API reference, and sign-in codes only when it listens on loopback", async () => {
    const { DATA_DIR, baseUrl, said } = await saidBy({});
    await expect.poll(said).toMatch(/To: ada@host\.example[\s\S]*Your code: \w+/);
    const lines = said()
      .split("\n")
      .filter((line) => line.startsWith("  "));
    expect(lines.slice(0, 2)).toEqual([`  Home    ${baseUrl}/`, `  API     ${baseUrl}/docs/api`]);
    expect(lines).toContain(`  Data    ${DATA_DIR}`);
  });

  it("prints no code when other hosts can connect", async () => {
    const { child, said } = await saidBy({ TRUST_PROXY: "1" });
    child.kill("SIGTERM");
    await once(child, "close");
    expect(said()).not.toContain("Your code");
  });

  it.each([
    [0o755, "(mode 755), which holds keys and personal data: chmod 700"],
    [0o700, undefined],
  ])("warns that other users can read its data: mode %o", async (mode, warning) => {
    const DATA_DIR = temporaryFolder();
    chmodSync(DATA_DIR, mode);
    const child = spawnMain({ DATA_DIR, PORT: "0" });
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += chunk;
      if (said.includes("Stop with Ctrl-C.")) child.kill("SIGTERM");
    });
    await once(child, "close");
    if (warning === undefined) expect(said).not.toContain("Other users of this machine");
    else expect(said).toContain(`Other users of this machine can open ${DATA_DIR} ${warning}`);
  });

  it("discloses only BASE_URL, and stops on SIGTERM", async () => {
    const { ready, child } = await startProcess({ BASE_URL: "https://signals.example" });
    expect(ready.baseUrl).toBe("https://signals.example");
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
  });
});
