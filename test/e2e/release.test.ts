// @module-tag full

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { ROOT } from "../../deploy/bundle.ts";
import pkg from "../../package.json" with { type: "json" };
import lock from "../../src/score/method.lock.json" with { type: "json" };
import { hashProgram } from "../../src/telemetry/program-hash.ts";
import { getWith, newToken } from "../support/agent.ts";
import { atFileEnd } from "../support/file-end.ts";
import { buildRelease, installedPackage } from "../support/installed-package.ts";
import { temporaryFolder } from "../support/process.ts";

const MEGABYTE = 1_000_000;

const folder = temporaryFolder();
const { tarball, program } = installedPackage();
const installed = join(program, "../..");

it("the package is byte-identical when it is packed from another checkout of the same commit", () => {
  const checkout = join(folder, "elsewhere/checkout");
  mkdirSync(checkout, { recursive: true });
  const parts = [
    "deploy",
    "docs",
    "src",
    "tools",
    "wellknown",
    "package.json",
    "package-lock.json",
  ];
  for (const part of [...parts, "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"]) {
    cpSync(join(ROOT, part), join(checkout, part), { recursive: true });
  }
  chmodSync(join(checkout, "README.md"), 0o600);
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  const again = buildRelease(join(checkout, "release"), checkout);
  expect(readFileSync(again).equals(readFileSync(tarball))).toBe(true);
});

it("the package takes at most 10 MB packed and 40 MB installed, and has no dependencies and no install scripts", () => {
  const files = globSync("**/*", { cwd: installed }).map((name) => statSync(join(installed, name)));
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  expect(statSync(tarball).size).toBeLessThan(10 * MEGABYTE);
  expect(bytes).toBeLessThan(40 * MEGABYTE);
  const packages = readdirSync(join(installed, "..")).filter((name) => !name.startsWith("."));
  expect(packages).toEqual([pkg.name]);
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  expect(Object.keys(manifest).sort()).toEqual(
    ["bin", "description", "engines", "files", "license", "name", "type", "version"].sort(),
  );
});

it("the package contains every file of deploy/ that its documents name for an installed package", () => {
  const named = /deploy\/([\w.-]*[a-z])/g;
  const isOfCheckout = /^(Dockerfile|compose|release|bundle|server|README)/;
  const operations = readFileSync(join(installed, "docs/operations.md"), "utf8");
  const files = [...operations.matchAll(named)].map(([, name = ""]) => name);
  const wanted = files.filter((name) => name !== "" && !isOfCheckout.test(name));
  expect(wanted.length).toBeGreaterThan(3);
  expect(wanted.filter((name) => !existsSync(join(installed, "deploy", name)))).toEqual([]);
  for (const name of ["nginx.conf", "Caddyfile", "market-signal-backup.timer"]) {
    expect(existsSync(join(installed, "deploy", name)), name).toBe(true);
  }
});

it("the code contains only Latin-1, which V8 stores in one byte per character", () => {
  const code = globSync("dist/*.js", { cwd: installed });
  const beyond = code.filter((name) =>
    /[^\0-\xff]/.test(readFileSync(join(installed, name), "utf8")),
  );
  expect(code).not.toEqual([]);
  expect(beyond).toEqual([]);
});

it("the service does not load the packages for databases, exports and mail at startup", () => {
  const dist = join(installed, "dist");
  const loaded = new Set<string>();
  const load = (name: string): void => {
    if (loaded.has(name)) return;
    loaded.add(name);
    const code = readFileSync(join(dist, name), "utf8");
    for (const [, next = ""] of code.matchAll(/^import [^;]*?"\.\/([^"]+\.js)";$/gm)) load(next);
  };
  for (const name of globSync("{market-signal,program-*,main-*}.js", { cwd: dist })) load(name);
  const texts = [...loaded].map((name) => readFileSync(join(dist, name), "utf8")).join("\n");
  const packages = ["express", "pg", "hyparquet-writer", "nodemailer", "undici"].filter((name) =>
    texts.includes(`// node_modules/${name}/`),
  );
  expect(packages).toEqual(["express"]);
});

it("the package contains the license of every package in its source maps", () => {
  const maps = globSync("dist/*.map", { cwd: installed }).map((name) =>
    JSON.parse(readFileSync(join(installed, name), "utf8")),
  );
  const sources: readonly string[] = maps.flatMap((map) => map.sources);
  const names = sources.flatMap(
    (source) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[0] ?? [],
  );
  const bundled = new Set(names);
  expect(bundled.size).toBeGreaterThan(50);
  const text = readFileSync(join(installed, "THIRD-PARTY-LICENSES.txt"), "utf8");
  const sections = text.split(/^=+\n/m).map((section) => section.split("\n\n"));
  const missing = [...bundled].filter((path) => {
    const { name, version } = JSON.parse(readFileSync(join(ROOT, path, "package.json"), "utf8"));
    const [, ...terms] = sections.find(([names]) => names?.includes(`${name}@${version} (`)) ?? [];
    return !/permi|redistribut/i.test(terms.join());
  });
  expect(missing).toEqual([]);
});

it("the package computes the same scores as the sources", async () => {
  const program = join(installed, "dist/src/method/lock.js");
  const text = execFileSync(process.execPath, [program, "--print"], { encoding: "utf8" });
  expect(JSON.parse(text)).toMatchObject({ method: lock });
});

it("the package prints its version, and lists its commands", () => {
  const said = (option: string) =>
    execFileSync(process.execPath, [program, option], { encoding: "utf8" });
  expect(said("--version")).toBe(`${pkg.version}+${hashProgram(ROOT)}\n`);
  expect(said("--help")).toContain("  serve");
});

it("the package without arguments serves the sandbox from the user's data folder, and prints the folder's path", async () => {
  const XDG_DATA_HOME = join(folder, "user");
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, XDG_DATA_HOME, PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  atFileEnd(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const { baseUrl } = JSON.parse(String(line));
  const token = await newToken(baseUrl);
  const answer = await getWith(token, `${baseUrl}/api/signals?symbol=ALDER.SIM`);
  expect(answer.status).toBe(200);
  await expect.poll(() => said).toContain(`  Data    ${join(XDG_DATA_HOME, "market-signal")}`);
  const method = await getWith(token, `${baseUrl}/api/method/${lock.version}`);
  expect(await method.json()).toMatchObject({ methodHash: lock.methodHash });
});
