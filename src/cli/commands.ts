import type { Command } from "./command.ts";
import { backup } from "./commands/backup.ts";
import { exportRecords } from "./commands/export.ts";
import { importRecords } from "./commands/import.ts";
import { keysList } from "./commands/keys-list.ts";
import { keysRotate } from "./commands/keys-rotate.ts";
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
  ["keys list", keysList],
  ["keys rotate", keysRotate],
]);

/** Every command by name. */
export const commands: ReadonlyMap<string, Command> = new Map([...storeCommands, ...adminCommands]);
