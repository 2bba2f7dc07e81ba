import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { packageSelection, selectionOf, type Tier, tags } from "./test/tiers.ts";

const tiers: readonly string[] = ["quick", "full", "nightly"] satisfies Tier[];

/** `vitest --mode quick` runs the tests of one tier, `--mode package` those end to end on the installed
 *  package; without a mode, whatever file is named. */
export default defineConfig(({ mode }) => {
  const isPackage = mode === "package";
  return {
    test: {
      include: ["test/**/*.test.ts"],
      ...(tiers.includes(mode) && selectionOf(mode as Tier)),
      ...(isPackage && packageSelection()),
      tags: [...tags],
      globalSetup: [
        "test/support/run-folder.ts",
        ...(isPackage ? ["test/support/installed-package.ts"] : []),
      ],
      setupFiles: ["test/support/setup.ts"],
      // Processes of plain Node load every module once for all files. What a file starts,
      // `atFileEnd` ends.
      isolate: false,
      experimental: { viteModuleRunner: false },
      pool: "forks",
      // Many quick tests wait for a socket or a timer; a third worker on two cores uses that time.
      maxWorkers: mode === "quick" ? Math.ceil(1.5 * availableParallelism()) : "100%",
      // For machines that have much else to do: a start of the service may take half a minute there.
      expect: { poll: { timeout: 60_000 } },
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  };
});
