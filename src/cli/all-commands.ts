import type { Command } from "./command.ts";
import type { Commands } from "./command-line.ts";
import { backtestCommand } from "./commands/backtest.ts";
import { checkFolderCommand } from "./commands/check.ts";
import { drillCommand } from "./commands/drill.ts";
import { exportPanelCommand } from "./commands/export-panel.ts";
import { listenCommand } from "./commands/listen.ts";
import { downloadLogCommand } from "./commands/log-download.ts";
import { serveCommand } from "./commands/serve.ts";
import { verifyLogCommand } from "./commands/verify-log.ts";
import { witnessLogsCommand } from "./commands/witness.ts";
import { storeCommands } from "./store-commands.ts";

/** Every command of the program. */
export const commands: Commands = new Map<string, Command>([
  ["serve", serveCommand],
  ...storeCommands,
  ["store drill", drillCommand],
  ["verify", verifyLogCommand],
  ["log download", downloadLogCommand],
  ["witness", witnessLogsCommand],
  ["listen", listenCommand],
  ["export", exportPanelCommand],
  ["check", checkFolderCommand],
  ["backtest", backtestCommand],
]);
