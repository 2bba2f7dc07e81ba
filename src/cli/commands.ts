import type { Command } from "./command.ts";
import { backtest, explain } from "./commands/backtest.ts";
import { listen } from "./commands/listen.ts";
import { serve } from "./commands/serve.ts";
import { train } from "./commands/train.ts";
import { storeCommands } from "./store-commands.ts";

/** Every command by name, in the order of the help. */
export const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ["serve", serve],
  ...storeCommands,
  ["listen", listen],
  ["backtest", backtest],
  ["explain", explain],
  ["train", train],
]);
