import type { StoreCommand } from "./command.ts";
import {
  accountsDisableCommand,
  accountsEnableCommand,
  accountsListCommand,
} from "./commands/accounts.ts";
import { agentsDisableCommand, agentsEnableCommand, agentsListCommand } from "./commands/agents.ts";
import { alertsDisableCommand, alertsEnableCommand, alertsListCommand } from "./commands/alerts.ts";
import {
  apiKeyCreateCommand,
  apiKeyListCommand,
  apiKeyRevokeCommand,
} from "./commands/api-keys.ts";
import {
  applicationsAcceptCommand,
  applicationsListCommand,
  applicationsRejectCommand,
  inquiriesListCommand,
} from "./commands/applications.ts";
import { auditCommand } from "./commands/audit.ts";
import { backupCommand, restoreCommand } from "./commands/backup-restore.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { forgetCommand } from "./commands/forget.ts";
import { startNewLogCommand } from "./commands/log-new.ts";
import { mailCommand } from "./commands/mail.ts";
import { migrateStoreCommand } from "./commands/migrate.ts";
import { keysListCommand, keysRotateCommand } from "./commands/service-keys.ts";
import { setupCommand } from "./commands/setup.ts";
import { statusCommand } from "./commands/status.ts";
import { verifyStoreCommand } from "./commands/verify-store.ts";

/** The operator's commands on the store by name, in the order in which the help lists them. */
export const storeCommands: ReadonlyMap<string, StoreCommand> = new Map([
  ["doctor", doctorCommand],
  ["admin status", statusCommand],
  ["admin keys list", keysListCommand],
  ["admin keys rotate", keysRotateCommand],
  ["admin log new", startNewLogCommand],
  ["admin key create", apiKeyCreateCommand],
  ["admin key list", apiKeyListCommand],
  ["admin key revoke", apiKeyRevokeCommand],
  ["admin applications list", applicationsListCommand],
  ["admin applications accept", applicationsAcceptCommand],
  ["admin applications reject", applicationsRejectCommand],
  ["admin inquiries list", inquiriesListCommand],
  ["admin agents list", agentsListCommand],
  ["admin agents disable", agentsDisableCommand],
  ["admin agents enable", agentsEnableCommand],
  ["admin accounts list", accountsListCommand],
  ["admin accounts disable", accountsDisableCommand],
  ["admin accounts enable", accountsEnableCommand],
  ["admin alerts list", alertsListCommand],
  ["admin alerts disable", alertsDisableCommand],
  ["admin alerts enable", alertsEnableCommand],
  ["admin audit", auditCommand],
  ["admin mail", mailCommand],
  ["admin setup", setupCommand],
  ["admin forget", forgetCommand],
  ["store backup", backupCommand],
  ["store restore", restoreCommand],
  ["store migrate", migrateStoreCommand],
  ["store verify", verifyStoreCommand],
]);
