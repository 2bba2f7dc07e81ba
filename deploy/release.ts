/**
 * Builds the npm package: JavaScript without dependencies, and the files that the service serves.
 * The package contains no TypeScript, because Node does not strip types below node_modules.
 * `npm run release` writes `release/package` and a tarball next to it; the same commit always
 * yields the same bytes.
 */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  globSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import type { RolldownOutput } from "rolldown";
import pkg from "../package.json" with { type: "json" };
import type { ComputedLocks, LockedFiles } from "../src/method/running.ts";
import { bundle, ROOT } from "./bundle.ts";

/**
 * Entry modules: the program, a module that runs as a worker thread and therefore needs its own
 * file, and the program that computes the hash of the method where code of the package was changed.
 */
const entries = {
  "market-signal": join(ROOT, "src/cli/market-signal.js"),
  background: join(ROOT, "src/store/sqlite/background.ts"),
  "src/method/lock": join(ROOT, "src/method/lock.ts"),
};

/** Files copied to the package unchanged. */
const documents = ["README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "docs"];

/** Files of `deploy` that an installed package needs; the others build images of a checkout. */
const operatorFiles = [
  ...["market-signal.service", "market-signal-backup.service", "market-signal-backup.timer"],
  ...["nginx.conf", "Caddyfile", "example.env", "prometheus-rules.yaml", "grafana-dashboard.json"],
].map((name) => `deploy/${name}`);

/** File in the package with the licenses of the bundled dependencies. */
const LICENSES = "THIRD-PARTY-LICENSES.txt";

/**
 * Matches the names of files in a dependency that contain its license text, which every copy of the
 * dependency must include.
 */
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;

/** The license section at the end of a README, with the license text as group 1. */
const LICENSE_SECTION = /^## license\n+([^#]+)$/im;

/**
 * Dependencies whose package contains no license text, each with a package of the same project that
 * contains the text.
 */
const sameProject: Readonly<Record<string, string>> = { "koa-compose": "koa" };

const folder = resolve(process.argv[2] ?? join(ROOT, "release"));
const content = join(folder, "package");

rmSync(folder, { recursive: true, force: true });
const licenses = licensesOf(await bundle(entries, join(content, "dist")));
writeLockedFiles(join(content, "dist/src/method"));
for (const path of globSync("src/{http,markup}/**/*.{css,js}", { cwd: ROOT })) {
  cpSync(join(ROOT, path), join(content, "dist", path));
}
for (const path of [...documents, ...operatorFiles]) {
  cpSync(join(ROOT, path), join(content, path), { recursive: true });
}
writeFileSync(join(content, LICENSES), licenses);
writeFileSync(join(content, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
// npm stores file modes in the tarball; without this line, the modes would depend on the umask of
// the checkout.
for (const entry of globSync("**", { cwd: content, withFileTypes: true })) {
  if (entry.isFile()) chmodSync(join(entry.parentPath, entry.name), 0o644);
}
chmodSync(join(content, "dist/market-signal.js"), 0o755);
execFileSync("npm", ["pack", content, "--pack-destination", folder], { stdio: "inherit" });

/** Writes the list of the files of the package that decide on the hash of the method. */
function writeLockedFiles(path: string): void {
  const text = execFileSync(process.execPath, [join(path, "lock.js"), "--print"], {
    encoding: "utf8",
  });
  const { files } = JSON.parse(text) as ComputedLocks;
  const list: LockedFiles = { program: "lock.js", files };
  writeFileSync(join(path, "locked-files.json"), `${JSON.stringify(list, null, 2)}\n`);
}

/** The fields of package.json that the published package needs. */
function manifest() {
  const { name, version, description, license, type, engines } = pkg;
  const bin = { [name]: `dist/${name}.js` };
  const files = ["dist", "deploy", LICENSES, ...documents];
  return { name, version, description, license, type, bin, engines, files };
}

/**
 * The distinct license texts of the bundled dependencies, each below the list of packages that it
 * applies to.
 */
function licensesOf({ output }: RolldownOutput): string {
  const ids = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  const names = new Map<string, Set<string>>();
  for (const path of new Set(ids.map(packageFolderOf).filter((found) => found !== undefined))) {
    const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    const text = licenseTextOf(path, name);
    names.set(text, (names.get(text) ?? new Set()).add(`${name}@${version} (${license})`));
  }
  return [...names]
    .map(([text, packages]) => `${[...packages].sort().join("\n")}\n\n${text}\n`)
    .sort()
    .join(`\n${"=".repeat(80)}\n`);
}

/** The folder of the dependency that contains a module; `undefined` for a module of the project. */
function packageFolderOf(id: string): string | undefined {
  if (id.startsWith("\0rolldown/")) return join(ROOT, "node_modules/rolldown");
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
}

/** @throws {Error} When the package contains no license text. */
function licenseTextOf(path: string, name: string): string {
  const folder = name in sameProject ? join(ROOT, "node_modules", sameProject[name] ?? "") : path;
  const files = readdirSync(folder).filter((file) => statSync(join(folder, file)).isFile());
  const textOf = (file: string) => readFileSync(join(folder, file), "utf8").trim();
  const texts = files.filter((file) => LICENSE_FILE.test(file)).map(textOf);
  const readme = files.filter((file) => /^readme/i.test(file)).map(textOf);
  const section = readme.flatMap((text) => LICENSE_SECTION.exec(text)?.[1] ?? []);
  const text = (texts.length === 0 ? section : texts).join("\n\n");
  if (!/permi|apache/i.test(text)) throw new Error(`${path} has no text of its license.`);
  return text;
}
