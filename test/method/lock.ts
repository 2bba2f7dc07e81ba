import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { currentLock, type MethodLock, methodOutputs } from "./outputs.ts";

/** Compares the method with its lock, or writes the lock: `npm run method`, `npm run method:lock`. */

const path = fileURLToPath(new URL("../../src/score/method.lock.json", import.meta.url));
const current = currentLock(methodOutputs());

if (process.argv.includes("--write")) {
  await writeFile(path, `${JSON.stringify(current, null, 2)}\n`);
  process.stdout.write(`method ${current.version} ${current.methodHash}\n`);
} else if (process.argv.includes("--print")) {
  process.stdout.write(`${JSON.stringify(current)}\n`);
} else {
  const locked = JSON.parse(await readFile(path, "utf8")) as MethodLock;
  const parts = (["version", "constants", "outputs", "methodHash"] as const).filter(
    (name) => locked[name] !== current[name],
  );
  if (parts.length > 0) {
    process.stderr.write(
      `The method differs from src/score/method.lock.json (${parts.join(", ")}). If scores were meant to change, raise METHOD_VERSION and run: npm run method:lock\n`,
    );
    process.exit(1);
  }
}
