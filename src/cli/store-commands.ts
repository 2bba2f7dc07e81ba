import type { StoreCommand } from "./command.ts";
import { keyCreate, keyList, keyRevoke } from "./commands/api-keys.ts";
import {
  applicationsAccept,
  applicationsList,
  applicationsReject,
  inquiriesList,
} from "./commands/applications.ts";
import { backupCommand, restoreCommand } from "./commands/backup-restore.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { exportRecords, importRecords } from "./commands/export-import.ts";
import { forgetCommand } from "./commands/forget.ts";
import { startNewLog } from "./commands/log-new.ts";
import { mailCommand } from "./commands/mail.ts";
import { migrateStore } from "./commands/migrate.ts";
import { setupCommand } from "./commands/setup.ts";
import { keysList, keysRotate } from "./commands/signing-keys.ts";
import { statusCommand } from "./commands/status.ts";
import { verifyStoreCommand } from "./commands/verify-store.ts";

/** The operator's commands on the store by name, in the order in which the help lists them. */
export const storeCommands: ReadonlyMap<string, StoreCommand> = new Map([
  ["doctor", doctorCommand],
  ["admin status", statusCommand],
  ["admin keys list", keysList],
  ["admin keys rotate", keysRotate],
  ["admin log new", startNewLog],
  ["admin key create", keyCreate],
  ["admin key list", keyList],
  ["admin key revoke", keyRevoke],
  ["admin applications list", applicationsList],
  ["admin applications accept", applicationsAccept],
  ["admin applications reject", applicationsReject],
  ["admin inquiries list", inquiriesList],
  ["admin mail", mailCommand],
  ["admin setup", setupCommand],
  ["admin forget", forgetCommand],
  ["store backup", backupCommand],
  ["store restore", restoreCommand],
  ["store export", exportRecords],
  ["store import", importRecords],
  ["store migrate", migrateStore],
  ["store verify", verifyStoreCommand],
]);
