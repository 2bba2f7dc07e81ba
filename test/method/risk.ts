import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import {
  RISK_TABLE,
  SIMULATED_RISK_TABLE,
  WALK_FORWARD_REPORT_DAY_FACTORS,
} from "../../src/risk/measured-table.ts";
import { readMarketFolder } from "../../src/sources/files/market-folder.ts";
import { recordedRiskTables, simulatedRiskTable } from "./risk-tables.ts";

/**
 * Measures the risk tables and compares them with src/risk/measured-table.ts, or writes them there:
 * `npm run risk-tables -- [--write] [market folder]`. Without a folder, the table of recorded
 * markets is left as it is.
 */

const path = fileURLToPath(new URL("../../src/risk/measured-table.ts", import.meta.url));
const folder = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
const recorded =
  folder === undefined
    ? { table: RISK_TABLE, earlierReportDays: WALK_FORWARD_REPORT_DAY_FACTORS }
    : recordedRiskTables((await readMarketFolder(folder)).recordsUntil(Number.POSITIVE_INFINITY));
const simulated = simulatedRiskTable();

const measured = [
  ["RISK_TABLE", RISK_TABLE, recorded.table],
  ["WALK_FORWARD_REPORT_DAY_FACTORS", WALK_FORWARD_REPORT_DAY_FACTORS, recorded.earlierReportDays],
  ["SIMULATED_RISK_TABLE", SIMULATED_RISK_TABLE, simulated],
] as const;

if (process.argv.includes("--write")) {
  let module = await readFile(path, "utf8");
  for (const [name, , table] of measured) module = withTable(module, name, table);
  await writeFile(path, module);
  execFileSync("npx", ["biome", "check", "--write", path], { stdio: "inherit" });
} else {
  const names = measured.flatMap(([name, known, table]) =>
    isDeepStrictEqual(table, known) ? [] : [name],
  );
  if (names.length > 0) {
    process.stderr.write(
      `${names.join(" and ")} of src/risk/measured-table.ts differ from what is measured. If forecasts were meant to change, run: npm run risk-tables -- --write <market folder>\n`,
    );
    process.exit(1);
  }
}

/** Replaces one table in the source text of the module. */
function withTable(module: string, name: string, table: object): string {
  const declared = module.indexOf(`export const ${name}: `);
  const from = module.indexOf(" = ", declared) + " = ".length;
  const to = module.indexOf("\n};\n", from) + "\n}".length;
  return module.slice(0, from) + JSON.stringify(table) + module.slice(to);
}
