/** Makes the package that is published: JavaScript and the files that it serves, without dependencies,
 *  since Node runs no TypeScript below node_modules. `npm run release` leaves `release/package` and its
 *  tarball beside it; the same commit gives the same bytes. */

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
import { bundle, ROOT } from "./bundle.ts";

/** The program, and a module that starts itself as a worker thread and so stays a file of its own. */
const entries = {
  "market-signal": join(ROOT, "src/cli/market-signal.js"),
  "integrity-check": join(ROOT, "src/store/sqlite/integrity-check.ts"),
};

/** Files in the package as they are in the project. */
const documents = ["README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "docs"];

/** File in the package with the licenses of what is bundled. */
const LICENSES = "THIRD-PARTY-LICENSES.txt";

/** Files of a package that say what its license asks to be repeated. */
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;

/** The license at the end of a README. */
const LICENSE_SECTION = /^## license\n+([^#]+)$/im;

/** Packages that only name their license, with the package of the same project that has its text. */
const sameProject: Readonly<Record<string, string>> = { "koa-compose": "koa" };

const folder = resolve(process.argv[2] ?? join(ROOT, "release"));
const content = join(folder, "package");

rmSync(folder, { recursive: true, force: true });
const licenses = licensesOf(await bundle(entries, join(content, "dist")));
for (const path of globSync("src/http/**/*.{css,js}", { cwd: ROOT })) {
  cpSync(join(ROOT, path), join(content, "dist", path));
}
for (const path of documents) cpSync(join(ROOT, path), join(content, path), { recursive: true });
writeFileSync(join(content, LICENSES), licenses);
writeFileSync(join(content, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
// npm packs the modes of files, which else would depend on the umask of the checkout.
for (const entry of globSync("**", { cwd: content, withFileTypes: true })) {
  if (entry.isFile()) chmodSync(join(entry.parentPath, entry.name), 0o644);
}
chmodSync(join(content, "dist/market-signal.js"), 0o755);
execFileSync("npm", ["pack", content, "--pack-destination", folder], { stdio: "inherit" });

/** What npm needs to know of the published package. */
function manifest() {
  const { name, version, description, license, type, engines } = pkg;
  const bin = { [name]: `dist/${name}.js` };
  const files = ["dist", LICENSES, ...documents];
  return { name, version, description, license, type, bin, engines, files };
}

/** Every license text of what is in the bundle, under the packages that have it. */
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

/** The folder of the package that a module is from; `undefined` for a module of the project. */
function packageFolderOf(id: string): string | undefined {
  if (id.startsWith("\0rolldown/")) return join(ROOT, "node_modules/rolldown");
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
}

/** @throws {Error} When the package brings no text of its license. */
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
