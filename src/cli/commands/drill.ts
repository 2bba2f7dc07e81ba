import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { LogReader } from "../../log/log-reader.ts";
import { LogStore } from "../../log/log-store.ts";
import { verifyLog } from "../../log/verify/verify-log.ts";
import { type BackupFacts, checkBackup, openBackup } from "../../maintenance/backup/backup.ts";
import { verifyStore } from "../../maintenance/backup/verify-store.ts";
import type { Store } from "../../store/port/store.ts";
import { openEmbedded } from "../../store/sqlite/open.ts";
import type { VerificationCheck } from "../../tree/check.ts";
import { parseTilePath } from "../../tree/tile-path.ts";
import { type LogSource, MAX_TEXT_BYTES } from "../../tree/tree-source.ts";
import { defineLocalCommand } from "../command.ts";
import { formatCount, rowCountsText } from "../format.ts";
import type { ProgressLine } from "../progress-line.ts";
import { showProgressOn } from "./verify-log.ts";

const HOUR_MS = 3_600_000;

/** Names of backups in a folder. */
const BACKUP_NAME = /\.(gz|sqlite)$/;

/** Restores a backup into a scratch folder, and verifies it. */
export const drillCommand = defineLocalCommand({
  summary: "Restores a backup, or the newest of a folder, into a scratch folder, and verifies it.",
  notes: [
    "Reads every row, the tree of audit rows and the log of signals, and says what is wrong. Nothing",
    "of the service is touched, and neither it nor its keys are needed. <backups> is the file that",
    "`store backup` wrote, or a folder, whose backups are the files with names that end in .gz or",
    ".sqlite; the newest by its date in the file system has to be good, whatever the others are. The",
    "scratch folder is below TMPDIR and removed afterwards; it takes the space of a store.",
    "The exit code is 1 when there is a problem.",
  ],
  operands: {
    backups: z.string("is missing: name a backup, or the folder of backups").min(1, "is empty"),
  },
  options: {
    "max-age": {
      value: "<hours>",
      about: "an older backup is a problem (default: any age is good)",
      schema: z.coerce.number("is not a number of hours").positive("is not above 0").optional(),
    },
  },

  async run({ backups, "max-age": maxAgeHours }, { folder: from, progress }) {
    const file = await newestIn(resolve(from, backups));
    const facts = await checkBackup(file, (step) => progress.show(step));
    const scratch = await mkdtemp(join(tmpdir(), "market-signal-drill-"));
    try {
      await restoreInto(scratch, file, facts);
      const found = await verifyIn(scratch, progress);
      const problems = [...ageProblems(facts, maxAgeHours), ...found.problems];
      const counts = { records: facts.rows.record, archive: facts.rows.archive };
      const isGood = problems.length === 0;
      return {
        isGood,
        lines: [
          `${file}, as of ${facts.createdAt}: restored ${rowCountsText(counts)}.`,
          `Sealed audit rows: ${formatCount(found.auditRows)}`,
          `Log of signals: ${found.log}`,
          ...(isGood ? ["ok"] : problems),
        ],
        result: { isGood, file, createdAt: facts.createdAt, ...counts, problems },
        notes: isGood ? ["master.key is in no backup; see that its copy is where you think."] : [],
      };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  },
});

/**
 * The path of the newest backup in a folder, or the path of a backup itself.
 * @throws {Error} If the folder contains no backup.
 */
async function newestIn(folder: string): Promise<string> {
  if (!(await stat(folder)).isDirectory()) return folder;
  const names = (await readdir(folder)).filter((name) => BACKUP_NAME.test(name));
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return { path, at: (await stat(path)).mtimeMs };
    }),
  );
  const [newest] = files.toSorted((a, b) => b.at - a.at);
  if (newest === undefined)
    throw new Error(`${folder} has no backup: no name in it ends in .gz or .sqlite.`);
  return newest.path;
}

/** Creates a store from a backup, and closes it the same way as a service that shuts down. */
async function restoreInto(folder: string, file: string, { identity }: BackupFacts): Promise<void> {
  const { batches } = await openBackup(file);
  const store = await openEmbedded({ folder, mode: identity.mode, now: Date.now });
  try {
    await store.load(identity, batches);
  } finally {
    await store.close();
  }
}

async function verifyIn(folder: string, progress: ProgressLine) {
  const store = await openEmbedded({ folder, now: Date.now });
  try {
    const { audit, problems } = await verifyStore(store, { now: Date.now }, (step) =>
      progress.show(step),
    );
    const { size, checks } = await verifyStoredLog(store, progress);
    const failed = checks.filter(({ outcome }) => outcome === "failed");
    return {
      auditRows: audit.rows,
      log: size === undefined ? "none" : `${formatCount(size)} entries`,
      problems: [
        ...problems,
        ...failed.map(({ name, detail }) => `The ${name} of the log of signals: ${detail}.`),
      ],
    };
  } finally {
    await store.close();
  }
}

async function verifyStoredLog(
  store: Store,
  progress: ProgressLine,
): Promise<{ readonly size: number | undefined; readonly checks: readonly VerificationCheck[] }> {
  const source = storedLog(store);
  if ((await source.read("checkpoint", MAX_TEXT_BYTES)) === undefined)
    return { size: undefined, checks: [] };
  const onProgress = showProgressOn(progress);
  return verifyLog({ source, keys: [], known: undefined, now: Date.now, onProgress });
}

/**
 * The signal log in a restored store, in the form in which the service serves it. It has no public
 * keys, since they are derived from keys that are sealed in the store.
 */
function storedLog(store: Store): LogSource {
  const reader = new LogReader(new LogStore(store));
  return {
    async read(path) {
      if (path === "keys") return new Uint8Array();
      if (path === "checkpoint") {
        const signed = await reader.checkpoint();
        return signed && Buffer.from(signed.note);
      }
      const part = parseTilePath(path.replace(/^tile\//, ""));
      if (part === undefined) return undefined;
      const { level } = part;
      return level === "entries" ? reader.bundle(part) : reader.tile({ ...part, level });
    },
  };
}

function ageProblems({ createdAt }: BackupFacts, maxHours: number | undefined): readonly string[] {
  const hours = (Date.now() - Date.parse(createdAt)) / HOUR_MS;
  if (maxHours === undefined || hours <= maxHours) return [];
  return [`The newest backup is ${Math.floor(hours)} hours old; at most ${maxHours} were allowed.`];
}
