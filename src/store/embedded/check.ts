import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { messageOf } from "./failure.ts";
import type { Holder } from "./files.ts";
import type { Gate } from "./gate.ts";
import type { SqliteFile } from "./sqlite-file.ts";

/** Rows that are looked at before the event loop turns. */
const CHECK_ROWS = 500;

/**
 * Reads both files from disk, whatever is in memory: every page, and the sum of every record.
 * Nothing else happens while the pages of a file are read, about 2 ms for each MiB.
 *
 * @returns What is wrong, with the name of the file; empty when nothing is.
 */
export async function checkFiles(holder: Holder, gate: Gate): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const select of [recordFileOf, archiveFileOf]) {
    gate.checkReadable();
    problems.push(...pageProblems(select(holder)));
    await setImmediate();
  }
  let after: number | undefined = Number.MIN_SAFE_INTEGER;
  while (after !== undefined) {
    gate.checkReadable();
    const file = recordFileOf(holder);
    try {
      const seen = holder.files.table.check(after, CHECK_ROWS);
      problems.push(...seen.problems.map((problem) => named(file, problem)));
      after = seen.last;
    } catch (error) {
      return [...problems, named(file, messageOf(error))];
    }
    await setImmediate();
  }
  return problems;
}

const recordFileOf = ({ files }: Holder): SqliteFile => files.recordFile;
const archiveFileOf = ({ files }: Holder): SqliteFile => files.archive.file;

/** Lets go of the pages in memory first, which would be read instead. */
function pageProblems(file: SqliteFile): readonly string[] {
  try {
    file.database.exec("PRAGMA shrink_memory");
    const rows = file.database.prepare("PRAGMA integrity_check").all();
    const found = rows.map(({ integrity_check }) => String(integrity_check));
    return found.filter((text) => text !== "ok").map((text) => named(file, text));
  } catch (error) {
    return [named(file, messageOf(error))];
  }
}

function named({ path }: SqliteFile, problem: string): string {
  return `${basename(path)}: ${problem}`;
}
