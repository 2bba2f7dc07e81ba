import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { EVIDENCE_SETS, figuresOf, optionsOf } from "./evidence-figures.ts";

/**
 * Runs the backtests that the product quotes and compares their figures with
 * src/score/method-evidence.json, or writes them there and into the documents that quote them:
 * `npm run method:evidence -- [--write] <market folder> <wide market folder>`.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
const path = join(root, "src/score/method-evidence.json");
const given = process.argv.slice(2);
const [market, wide] = given.filter((argument) => !argument.startsWith("--"));
if (market === undefined || wide === undefined) {
  process.stderr.write("Name the market folder and the wide market folder.\n");
  process.exit(2);
}
const places = { market: resolve(market), "market-wide": resolve(wide) };

const sets = EVIDENCE_SETS.map((set) => {
  // A folder of its own for each run, so that no run makes the verdict of another stricter.
  const out = mkdtempSync(join(tmpdir(), "evidence-"));
  try {
    process.stderr.write(`${set.set}: ${set.from} to ${set.to}\n`);
    const options = [...optionsOf(set, places[set.folder]), "--out", out, "--json"];
    const program = join(root, "src/cli/market-signal.js");
    const printed = execFileSync(process.execPath, [program, ...options], {
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    return figuresOf(set, JSON.parse(printed));
  } finally {
    rmSync(out, { recursive: true });
  }
});

if (given.includes("--write")) {
  const before = quotes();
  writeFileSync(path, `${JSON.stringify({ sets })}\n`);
  execFileSync("npx", ["biome", "check", "--write", path], { cwd: root, stdio: "inherit" });
  const after = quotes();
  for (const name of ["README.md", "docs/method-and-backtest.md"]) {
    const file = join(root, name);
    const text = before.reduce(
      (so, quote, index) => so.replaceAll(quote, () => after[index] ?? quote),
      readFileSync(file, "utf8"),
    );
    writeFileSync(file, text);
  }
} else if (!isDeepStrictEqual({ sets }, JSON.parse(readFileSync(path, "utf8")))) {
  process.stderr.write(
    "src/score/method-evidence.json differs from what is measured. If the method or the data were meant to change, run the same with --write.\n",
  );
  process.exit(1);
}

/** What the documents quote of the evidence, as the present figures give it. */
function quotes(): readonly string[] {
  const module = new URL("./evidence-quotes.ts", import.meta.url).href;
  const script = `const { evidenceQuotes } = await import(${JSON.stringify(module)}); console.log(JSON.stringify(evidenceQuotes()));`;
  return JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }),
  );
}
