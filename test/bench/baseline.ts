import { readAnswers } from "./baselines/answers.ts";
import { startBearer } from "./baselines/bearer.ts";

/** A server that the service is compared with: `baseline.ts <name> <file with answers>`. Says where
 *  it is when it listens. */

/** Starts each baseline; loads only the measured one. */
const baselines = {
  raw: async () => (await import("./baselines/raw.ts")).startRaw,
  bare: async () => (await import("./baselines/express.ts")).startBare,
  lean: async () => (await import("./baselines/express.ts")).startLean,
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
