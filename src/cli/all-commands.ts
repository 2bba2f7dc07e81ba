import type { Command } from "./command.ts";
import type { Commands } from "./command-line.ts";
import { backtest, explain } from "./commands/backtest.ts";
import { drill } from "./commands/drill.ts";
import { exportPanel } from "./commands/export-panel.ts";
import { listen } from "./commands/listen.ts";
import { downloadLog } from "./commands/log-download.ts";
import { serve } from "./commands/serve.ts";
import { train } from "./commands/train.ts";
import { verifyLogCommand } from "./commands/verify-log.ts";
import { witnessLogs } from "./commands/witness.ts";
import { storeCommands } from "./store-commands.ts";

/** Every command of the program. */
export const commands: Commands = new Map<string, Command>([
  ["serve", serve],
  ...storeCommands,
  ["store drill", drill],
  ["verify", verifyLogCommand],
  ["log download", downloadLog],
  ["witness", witnessLogs],
  ["listen", listen],
  ["export", exportPanel],
  ["backtest", backtest],
  ["explain", explain],
  ["train", train],
]);
