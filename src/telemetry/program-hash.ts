import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Files and folders of the project that decide what the program does. */
const PARTS = [
  "package.json",
  "package-lock.json",
  "deploy/bundle.ts",
  "src",
  "tools",
  "wellknown",
];

/** Length of the hash in hexadecimal digits. */
const DIGITS = 12;

/**
 * SHA-256 of the names and contents of all files of the program, shortened. A checkout and the
 * package that is made of it have the same hash; any change of a file has another.
 *
 * @param root Path of the checkout.
 */
export function hashProgram(root: string): string {
  const hash = createHash("sha256");
  for (const path of PARTS.flatMap((part) => filesIn(root, part))) {
    const content = readFileSync(join(root, path));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex").slice(0, DIGITS);
}

/** Paths of the files in a part, from the root on and with slashes, in a fixed order. */
function filesIn(root: string, part: string): readonly string[] {
  if (statSync(join(root, part)).isFile()) return [part];
  const entries = readdirSync(join(root, part), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replaceAll("\\", "/"))
    .map((path) => path.replace(/^\/+/, ""))
    .sort();
}
