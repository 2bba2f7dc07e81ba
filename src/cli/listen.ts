import { runListen } from "./listen/program.ts";

process.exitCode = await runListen({ argv: process.argv.slice(2), terminal: process });
