import type { Command } from "./command.ts";
import { applicationsAccept } from "./commands/applications-accept.ts";
import { applicationsList } from "./commands/applications-list.ts";
import { applicationsReject } from "./commands/applications-reject.ts";
import { backup } from "./commands/backup.ts";
import { doctor } from "./commands/doctor.ts";
import { exportRecords } from "./commands/export.ts";
import { forget } from "./commands/forget.ts";
import { importRecords } from "./commands/import.ts";
import { inquiriesList } from "./commands/inquiries-list.ts";
import { keyCreate } from "./commands/key-create.ts";
import { keyList } from "./commands/key-list.ts";
import { keyRevoke } from "./commands/key-revoke.ts";
import { keysList } from "./commands/keys-list.ts";
import { keysRotate } from "./commands/keys-rotate.ts";
import { mail } from "./commands/mail.ts";
import { migrateStore } from "./commands/migrate.ts";
import { restore } from "./commands/restore.ts";
import { status } from "./commands/status.ts";
import { verify } from "./commands/verify.ts";

/** What belongs to the store, in the order of the help. */
export const storeCommands: ReadonlyMap<string, Command> = new Map([
  ["backup", backup],
  ["restore", restore],
  ["export", exportRecords],
  ["import", importRecords],
  ["migrate", migrateStore],
  ["verify", verify],
]);

/** What belongs to the running service, in the order of the help. */
export const adminCommands: ReadonlyMap<string, Command> = new Map([
  ["status", status],
  ["doctor", doctor],
  ["keys list", keysList],
  ["keys rotate", keysRotate],
  ["key create", keyCreate],
  ["key list", keyList],
  ["key revoke", keyRevoke],
  ["applications list", applicationsList],
  ["applications accept", applicationsAccept],
  ["applications reject", applicationsReject],
  ["inquiries list", inquiriesList],
  ["mail", mail],
  ["forget", forget],
]);

/** Every command by name. */
export const commands: ReadonlyMap<string, Command> = new Map([...storeCommands, ...adminCommands]);
