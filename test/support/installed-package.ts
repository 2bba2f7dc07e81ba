import { execFileSync } from "node:child_process";
import { globSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** Makes the package in a folder. @returns Its tarball. */
export function buildRelease(folder: string, root = ROOT): string {
  execFileSync(process.execPath, [join(root, "deploy/release.ts"), folder], { stdio: "pipe" });
  const [tarball = ""] = globSync(join(folder, "*.tgz"));
  return tarball;
}

/** Installs a tarball into an empty folder, with an empty cache and without a registry. @returns The
 *  file of the program. */
export function installPackage(tarball: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  execFileSync("npm", ["install", "--offline", "--omit=dev", "--no-audit", tarball], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, npm_config_cache: join(folder, "cache") },
    stdio: "pipe",
  });
  return join(folder, "node_modules/market-signal/dist/market-signal.js");
}

/** Installs the package for the workers of a run in the package tier. */
export function setup(): void {
  const folder = process.env.TEST_FOLDER ?? "";
  const tarball = buildRelease(join(folder, "release"));
  process.env.INSTALLED_PROGRAM = installPackage(tarball, join(folder, "installed"));
}
