import { markRestored } from "../../log/log-state.ts";
import {
  type BackupFacts,
  checkBackup,
  kindOf,
  openBackup,
  writeBackup,
} from "../../maintenance/backup/backup.ts";
import { recordBackup } from "../../maintenance/backup/last-backup.ts";
import { type OnCommandProgress, withProgress } from "../../maintenance/backup/progress.ts";
import { writeAuditEntry } from "../../store/audit-entry.ts";
import type { DumpRow } from "../../store/port/store.ts";
import { recordsWrittenBy, transactOnce, type WrittenRecord } from "../../store/transact.ts";
import {
  type CommandContext,
  type CommandOutcome,
  ConfirmationNeeded,
  defineStoreCommand,
} from "../command.ts";
import { rowCountsText, sizeText } from "../format.ts";
import { openStoreForRestore } from "../restore-target.ts";
import { type RestoreArguments, restoreExport } from "./restore-export.ts";
import { reloadKeysWithNotes } from "./service-keys.ts";
import { FileArgument, logNotesAfterRestore, yesOption } from "./shared.ts";

/** Writes a backup. */
export const backupCommand = defineStoreCommand({
  summary: "Writes everything in the store into a new file, as it is at one instant.",
  notes: [
    "The file is for its owner only. It is a dump: lines of JSON, compressed, with a hash of all of",
    "them. With a name that ends in .sqlite it is an SQLite file, of the embedded store only, which is",
    "several times as large and for which no request of a running server waits. Either restores both",
    "engines. Writes go on meanwhile. master.key is not in it: keep a copy apart, since without it",
    "nobody can read the keys and secrets in a backup.",
  ],
  operands: { file: FileArgument },

  async run({ file }, { store, now }, onProgress) {
    const { identity, createdAt, rows, bytes } = await writeBackup(
      { store, file, now },
      onProgress,
    );
    const counts = { records: rows.record, archive: rows.archive };
    const isRecorded = await transactOnce(store.records, (tx) =>
      recordBackup(tx, Date.parse(createdAt)),
    ).catch(() => false);
    return {
      isGood: true,
      lines: [`Wrote ${rowCountsText(counts)} as of ${createdAt} to ${file} (${sizeText(bytes)}).`],
      result: { file, storeId: identity.id, mode: identity.mode, createdAt, ...counts, bytes },
      notes: [
        "master.key is not in it; keep a copy apart.",
        ...(isRecorded
          ? []
          : ["The store could not be written, so admin status does not know of it."]),
      ],
    };
  },
});

/** Restores a backup. */
export const restoreCommand = defineStoreCommand({
  summary: "Replaces everything in the store by what is in a backup.",
  notes: [
    "Stop the service before. The whole backup is checked first; a damaged one is refused and changes",
    "nothing. Where there is no store one is made; the files of a damaged one are kept under other",
    "names. The master.key that belongs to the backup has to be put in its place as well. Of a file",
    "that `store export` of version 1.0.0 wrote, it replaces the collections in it, and no others.",
  ],
  operands: { file: FileArgument },
  options: { yes: yesOption },
  open: openStoreForRestore,

  async run(args, context, onProgress) {
    await refuseServed(context);
    const restore = (await kindOf(args.file)) === "export" ? restoreExport : restoreBackup;
    return restore(args, context, onProgress);
  },
});

async function restoreBackup(
  { file, yes }: RestoreArguments,
  context: CommandContext,
  onProgress: OnCommandProgress,
): Promise<CommandOutcome> {
  if (!yes) await refuseFilled(context);
  const facts = await checkBackup(file, onProgress);
  await load(file, facts, { context, onProgress });
  const { identity, createdAt, rows } = facts;
  const counts = { records: rows.record, archive: rows.archive };
  return {
    isGood: true,
    lines: [`Restored ${rowCountsText(counts)} as of ${createdAt} from ${file}.`],
    result: { file, storeId: identity.id, mode: identity.mode, createdAt, ...counts },
    notes: [...(await reloadKeysWithNotes(context)), ...(await logNotesAfterRestore(context))],
  };
}

/**
 * A process that runs on the store has data of it in memory, which it would write into what was
 * restored.
 *
 * @throws {Error} If a process runs on the store.
 */
async function refuseServed({ holder, store }: CommandContext): Promise<void> {
  const running =
    holder === "server" ? [`process ${process.pid}`] : ((await store.otherProcesses?.()) ?? []);
  if (running.length === 0) return;
  throw new Error(
    `The service runs on this store (${running.join(", ")}): stop it, then restore again. Nothing was changed.`,
  );
}

async function refuseFilled({ store }: CommandContext): Promise<void> {
  const counts = await store.counts();
  if (counts.records + counts.archive === 0) return;
  throw new ConfirmationNeeded(`The restore replaces ${rowCountsText(counts)}.`);
}

async function load(
  file: string,
  { identity, createdAt, rows }: BackupFacts,
  {
    context,
    onProgress,
  }: { readonly context: CommandContext; readonly onProgress: OnCommandProgress },
): Promise<void> {
  const { store, now } = context;
  if (identity.mode !== store.identity.mode) {
    throw new Error(
      `${file} is of a store of the mode ${identity.mode}; this one belongs to ${store.identity.mode}. Nothing was changed; set DATA_DIR or DATABASE_URL to another place.`,
    );
  }
  const { batches } = await openBackup(file);
  const entry = { action: "store.restored", actor: "operator", target: identity.id };
  const added = recordsWrittenBy(store.records, (tx) => {
    writeAuditEntry(tx, { ...entry, detail: { createdAt } }, now());
    recordBackup(tx, Date.parse(createdAt));
  });
  const total = rows.record + rows.archive;
  const loaded = withProgress(batches, { doing: "restoring", total }, onProgress);
  const marked = store.engine === "postgres" ? withMark(loaded) : loaded;
  await store.load(identity, withRecords(marked, added));
}

/** Marks the log of signals as restored. */
async function* withMark(
  batches: AsyncIterable<readonly DumpRow[]>,
): AsyncGenerator<readonly DumpRow[]> {
  for await (const batch of batches) yield batch.map(markRestored);
}

/**
 * Appends the rows of written records, with revisions newer than those in the batches, so that the
 * dump and these rows load atomically.
 */
async function* withRecords(
  batches: AsyncIterable<readonly DumpRow[]>,
  written: readonly WrittenRecord[],
): AsyncGenerator<readonly DumpRow[]> {
  const isReplaced = (row: DumpRow) =>
    row.table === "record" &&
    written.some(({ collection, key }) => collection === row.collection && key === row.key);
  let revision = 0;
  for await (const batch of batches) {
    for (const row of batch)
      if (row.table === "record") revision = Math.max(revision, row.revision);
    yield batch.filter((row) => !isReplaced(row));
  }
  yield written.map(({ collection, key, value }, at) => ({
    table: "record",
    collection,
    key,
    text: JSON.stringify(value),
    revision: revision + at + 1,
    groups: [],
    expiresAt: null,
    dueAt: null,
    consumedAt: null,
  }));
}
