import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const PREFLIGHT = new URL("../../../src/process/preflight.js", import.meta.url);

/** Runs the preflight check under a fake Node version, and returns its exit status and message. */
function preflightOf(version: string, preflight = PREFLIGHT) {
  const script = `
    Object.defineProperty(process, "versions", {
      value: { ...process.versions, node: ${JSON.stringify(version)} },
    });
    await import(${JSON.stringify(preflight.href)});`;
  const args = ["--input-type=module", "--eval", script];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, said: stderr };
}

it.each(["18.19.1", "20.20.2", "22.18.0", "23.11.0", "24.9.0", "24.17.9"])(
  "Node %s is rejected with a message that states the required version",
  (version) => {
    const { status, said } = preflightOf(version);
    expect(status).toBe(1);
    expect(said).toContain(`needs Node 24.18 or newer; this is Node ${version}.`);
    expect(said).toContain("npm ci");
    expect(said).not.toContain("    at ");
  },
);

it("the preflight message of an installed package does not mention npm ci", () => {
  const folder = mkdtempSync(join(tmpdir(), "market-signal-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const installed = join(folder, "node_modules/market-signal/preflight.js");
  cpSync(PREFLIGHT, installed);
  const { status, said } = preflightOf("20.20.2", pathToFileURL(installed));
  expect(status).toBe(1);
  expect(said).toContain("this is Node 20.20.2.\nInstall the newest Node 24");
  expect(said).not.toContain("npm ci");
});

it.each(["24.18.0", "24.21.0", "25.0.0", "26.1.0"])("Node %s is accepted", (version) => {
  expect(preflightOf(version)).toEqual({ status: 0, said: "" });
});

it("the required Node version matches package.json", () => {
  const { engines, optionalDependencies } = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  );
  expect(engines.node).toBe(">=24.18");
  for (const version of Object.values<string>(optionalDependencies)) {
    expect(preflightOf(version).status).toBe(0);
  }
});
