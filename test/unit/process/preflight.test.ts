import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const PREFLIGHT = new URL("../../../src/process/preflight.js", import.meta.url);

/** What the preflight says under a version of Node. */
function preflightOf(version: string) {
  const script = `
    Object.defineProperty(process, "versions", {
      value: { ...process.versions, node: ${JSON.stringify(version)} },
    });
    await import(${JSON.stringify(PREFLIGHT.href)});`;
  const args = ["--input-type=module", "--eval", script];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, said: stderr };
}

it.each(["18.19.1", "20.20.2", "22.18.0", "23.11.0", "24.9.0", "24.17.9"])(
  "refuses Node %s in words, because it lacks what the service needs",
  (version) => {
    const { status, said } = preflightOf(version);
    expect(status).toBe(1);
    expect(said).toContain(`needs Node 24.18 or newer; this is Node ${version}.`);
    expect(said).toContain("npm ci");
    expect(said).not.toContain("    at ");
  },
);

it.each(["24.18.0", "24.21.0", "25.0.0", "26.1.0"])("takes Node %s", (version) => {
  expect(preflightOf(version)).toEqual({ status: 0, said: "" });
});

it("asks for the same version as package.json", () => {
  const { engines, optionalDependencies } = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  );
  expect(engines.node).toBe(">=24.18");
  for (const version of Object.values<string>(optionalDependencies)) {
    expect(preflightOf(version).status).toBe(0);
  }
});
