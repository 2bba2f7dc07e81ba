import { readAnswers } from "./baselines/answers.ts";
import { startBearer } from "./baselines/bearer.ts";

/**
 * Runs a server that the service is compared with: `baseline.ts <name> <file with answers>`. Prints
 * the address of the server once it listens.
 */

/** Start function of each baseline. Only the module of the measured baseline is loaded. */
const baselines = {
  raw: async () => (await import("./baselines/raw.ts")).startRaw,
  bare: async () => (await import("./baselines/express.ts")).startBareExpress,
  open: async () => (await import("./baselines/express.ts")).startOpenExpress,
  lean: async () => (await import("./baselines/express.ts")).startLeanExpress,
  sdk: async () => (await import("./baselines/sdk.ts")).startSdk,
  fastmcp: async () => (await import("./baselines/fastmcp.ts")).startFastmcp,
  tmcp: async () => (await import("./baselines/tmcp.ts")).startTmcp,
};
export type BaselineName = keyof typeof baselines;

const [name, file = ""] = process.argv.slice(2);
const start = await baselines[name as BaselineName]();
const bearer = await startBearer();
const baseUrl = await start(readAnswers(file), bearer);
process.stdout.write(`${JSON.stringify({ baseUrl, tokensUrl: bearer.tokensUrl })}\n`);
