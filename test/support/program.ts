import { fileURLToPath } from "node:url";

/**
 * Path of the program under test: the program of the installed package when the tests run in the
 * package tier (`installed-package.ts`), otherwise the program in the sources.
 */
export const PROGRAM: string =
  process.env.INSTALLED_PROGRAM ??
  fileURLToPath(new URL("../../src/cli/market-signal.js", import.meta.url));
