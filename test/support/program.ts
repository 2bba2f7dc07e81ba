import { fileURLToPath } from "node:url";

/**
 * Path of the program under test: in the package tier that of the installed package
 * (`installed-package.ts`), otherwise that of the sources.
 */
export const PROGRAM: string =
  process.env.INSTALLED_PROGRAM ??
  fileURLToPath(new URL("../../src/cli/market-signal.js", import.meta.url));
