import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "./process.ts";
import { sharedFolder } from "./shared.ts";

/** A folder with real market history, outside the project. */
const { path: FOLDER, isMissing } = sharedFolder("market", "the service on real history");

export { FOLDER, isMissing };

/** Parts of the folder to copy; absent: all. */
interface Reduction {
  readonly symbols?: readonly string[];
  /** ISO date; data that became known later is left out. */
  readonly lastDate?: string;
}

const PARTS = ["bars", "fundamentals", "mentions", "prints", "offexchange", "onchain"] as const;
type Part = (typeof PARTS)[number];

/**
 * Copies the folder with the given reduction; the copy is removed after the last test of the file.
 */
export async function reducedMarketFolder(reduction: Reduction): Promise<string> {
  const copy = temporaryFolder();
  const isWanted = (symbol: string) => reduction.symbols?.includes(symbol) ?? true;
  const [header, ...rows] = await lines(join(FOLDER, "instruments.csv"));
  const kept = rows.filter((row) => isWanted(row.slice(0, row.indexOf(","))));
  await save(join(copy, "instruments.csv"), [header ?? "", ...kept]);
  for (const part of PARTS) {
    await mkdir(join(copy, part));
    const names = await readdir(join(FOLDER, part));
    const wanted = names.filter((name) => isWanted(name.replace(/\.[a-z]+$/, "")));
    for (const name of wanted) await copyPast(part, name, { copy, ...reduction });
  }
  return copy;
}

/**
 * Copies the header of a file and the lines that were known on `lastDate`; leaves the file out if
 * there are no such lines.
 */
async function copyPast(
  part: Part,
  name: string,
  { copy, lastDate = "9999" }: Reduction & { readonly copy: string },
): Promise<void> {
  const all = await lines(join(FOLDER, part, name));
  const headers = part === "mentions" ? [] : all.slice(0, 1);
  const past = all.slice(headers.length).filter((line) => knownOn(part, line) <= lastDate);
  if (past.length > 0) await save(join(copy, part, name), [...headers, ...past]);
}

/** ISO date on which a line of the given part was known. */
function knownOn(part: Part, line: string): string {
  if (part === "mentions") return (JSON.parse(line) as { at: string }).at.slice(0, 10);
  const cells = line.split(",");
  return part === "fundamentals" ? (cells[2] ?? "") : (cells[0] ?? "").slice(0, 10);
}

const lines = async (path: string) => (await readFile(path, "utf8")).trimEnd().split(/\r?\n/);

const save = (path: string, text: readonly string[]) => writeFile(path, `${text.join("\n")}\n`);
