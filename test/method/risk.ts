import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { RISK_TABLE, SIMULATED_RISK_TABLE } from "../../src/risk/measured-table.ts";
import type { RiskTable } from "../../src/risk/table.ts";
import { readMarketFolder } from "../../src/sources/files/market-folder.ts";
import { recordedRiskTable, simulatedRiskTable } from "./risk-tables.ts";

/**
 * Measures the risk tables again and compares them with src/risk/measured-table.ts, or writes them:
 * `npm run risk-tables -- [--write] [market folder]`. Without a folder the table of recorded markets
 * stays as it is.
 */

const path = fileURLToPath(new URL("../../src/risk/measured-table.ts", import.meta.url));
const folder = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
const recorded =
  folder === undefined
    ? RISK_TABLE
    : recordedRiskTable((await readMarketFolder(folder)).recordsUntil(Number.POSITIVE_INFINITY));
const simulated = simulatedRiskTable();

if (process.argv.includes("--write")) {
  const module = withTable(await readFile(path, "utf8"), "RISK_TABLE", recorded);
  await writeFile(path, withTable(module, "SIMULATED_RISK_TABLE", simulated));
  execFileSync("npx", ["biome", "format", "--write", path], { stdio: "inherit" });
} else {
  const names = [
    ...(isDeepStrictEqual(recorded, RISK_TABLE) ? [] : ["RISK_TABLE"]),
    ...(isDeepStrictEqual(simulated, SIMULATED_RISK_TABLE) ? [] : ["SIMULATED_RISK_TABLE"]),
  ];
  if (names.length > 0) {
    process.stderr.write(
      `${names.join(" and ")} of src/risk/measured-table.ts differ from what is measured. If forecasts were meant to change, run: npm run risk-tables -- --write <market folder>\n`,
    );
    process.exit(1);
  }
}

/** The module with one table in place of the one that it has. */
function withTable(module: string, name: string, table: RiskTable): string {
  const declaration = `export const ${name}: RiskTable = `;
  const from = module.indexOf(declaration) + declaration.length;
  const to = module.indexOf("\n};\n", from) + "\n}".length;
  return module.slice(0, from) + JSON.stringify(table) + module.slice(to);
}
