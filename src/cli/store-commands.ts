import type { StoreCommand } from "./command.ts";
import { keyCreate, keyList, keyRevoke } from "./commands/api-keys.ts";
import {
  applicationsAccept,
  applicationsList,
  applicationsReject,
  inquiriesList,
} from "./commands/applications.ts";
import { backup, restore } from "./commands/backup-restore.ts";
import { doctor } from "./commands/doctor.ts";
import { exportRecords, importRecords } from "./commands/export-import.ts";
import { forget } from "./commands/forget.ts";
import { startNewLog } from "./commands/log-new.ts";
import { mail } from "./commands/mail.ts";
import { migrateStore } from "./commands/migrate.ts";
import { setup } from "./commands/setup.ts";
import { keysList, keysRotate } from "./commands/signing-keys.ts";
import { status } from "./commands/status.ts";
import { verify } from "./commands/verify-store.ts";

/** The operator's commands on the store by name, in the order of the help. */
export const storeCommands: ReadonlyMap<string, StoreCommand> = new Map([
  ["doctor", doctor],
  ["admin status", status],
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
  ["admin mail", mail],
  ["admin setup", setup],
  ["admin forget", forget],
  ["store backup", backup],
  ["store restore", restore],
  ["store export", exportRecords],
  ["store import", importRecords],
  ["store migrate", migrateStore],
  ["store verify", verify],
]);
