import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { candidateLock, currentLock, methodOutputs } from "./outputs.ts";

/**
 * Compares the method and the candidate with their lock files (`npm run method`), or writes the
 * lock files (`npm run method:lock`).
 */

const outputs = methodOutputs();
const current = currentLock(outputs);
const locks = { "method.lock.json": current, "candidate.lock.json": candidateLock(outputs) };

for (const [file, lock] of Object.entries(locks)) {
  const path = fileURLToPath(new URL(`../../src/score/${file}`, import.meta.url));
  if (process.argv.includes("--write")) {
    await writeFile(path, `${JSON.stringify(lock, null, 2)}\n`);
    process.stdout.write(`${file} ${lock.methodHash}\n`);
  } else if (process.argv.includes("--print")) {
    if (lock === current) process.stdout.write(`${JSON.stringify(lock)}\n`);
  } else {
    const locked = JSON.parse(await readFile(path, "utf8")) as Readonly<Record<string, string>>;
    const parts = Object.entries(lock).filter(([name, value]) => locked[name] !== value);
    if (parts.length === 0) continue;
    process.stderr.write(
      `The code differs from src/score/${file} (${parts.map(([name]) => name).join(", ")}). If this was intended, raise METHOD_RELEASE (or the candidate's registration date) and run: npm run method:lock\n`,
    );
    process.exitCode = 1;
  }
}
