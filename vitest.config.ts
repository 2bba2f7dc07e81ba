import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { programSelection, selectionOf, type Tier, tags } from "./test/tiers.ts";

const tiers: readonly string[] = ["quick", "full", "nightly"] satisfies Tier[];

/** `vitest --mode quick` runs the tests of one tier, `--mode package` the tests of the program on the
 *  installed package, `--mode sources` the same on the sources; without a mode, whatever file is named. */
export default defineConfig(({ mode }) => {
  const isPackage = mode === "package";
  return {
    test: {
      include: ["test/**/*.test.ts"],
      ...(tiers.includes(mode) && selectionOf(mode as Tier)),
      ...((isPackage || mode === "sources") && programSelection()),
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
      // A large young generation saves a tenth of the time, which is garbage collection.
      execArgv: ["--min-semi-space-size=32", "--max-semi-space-size=32", "--v8-pool-size=2"],
      // Many quick tests wait for a socket or a timer; a third worker on two cores uses that time. Others
      // keep both busy with PostgreSQL, Chromium and processes of the program.
      maxWorkers: mode === "quick" ? Math.ceil(1.5 * availableParallelism()) : "100%",
      // For machines that have much else to do: a start of the service may take half a minute there.
      expect: { poll: { timeout: 60_000 } },
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  };
});
