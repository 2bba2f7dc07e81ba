import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** Builds the npm package into a folder. @returns The path of its tarball. */
export function buildRelease(folder: string, root = ROOT): string {
  execFileSync(process.execPath, [join(root, "deploy/release.ts"), folder], { stdio: "pipe" });
  const [tarball = ""] = globSync(join(folder, "*.tgz"));
  return tarball;
}

/**
 * Installs a tarball into an empty folder, with an empty cache and without a registry.
 *
 * @returns The path of the program.
 */
function installPackage(tarball: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  execFileSync("npm", ["install", "--offline", "--omit=dev", "--no-audit", tarball], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, npm_config_cache: join(folder, "cache") },
    stdio: "pipe",
  });
  return join(folder, "node_modules/market-signal/dist/market-signal.js");
}

/** The npm package, and the program that its installation provides. */
interface Installed {
  readonly tarball: string;
  /** Path of the program. */
  readonly program: string;
}

/** The package that all tests of a run share; in the package tier, it is already installed. */
export function installedPackage(): Installed {
  const { PACKAGE_TARBALL: tarball, INSTALLED_PROGRAM: program } = process.env;
  if (tarball !== undefined && program !== undefined) return { tarball, program };
  const folder = mkdtempSync(join(tmpdir(), "package-"));
  const built = buildRelease(join(folder, "release"));
  return { tarball: built, program: installPackage(built, join(folder, "installed")) };
}

/** Builds and installs the package for the workers of a package tier run. */
export function setup(): void {
  const { tarball, program } = installedPackage();
  process.env.PACKAGE_TARBALL = tarball;
  process.env.INSTALLED_PROGRAM = program;
}
