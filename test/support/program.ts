import { fileURLToPath } from "node:url";

/** The program that tests start: that of the sources or, in the package tier, that of the package
 *  which `installed-package.ts` has installed. */
export const PROGRAM: string =
  process.env.INSTALLED_PROGRAM ??
  fileURLToPath(new URL("../../src/cli/market-signal.js", import.meta.url));
