import { flushCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How a collection is asked for (V8, `--expose-gc`). */
type Collect = (how: {
  readonly type: "major";
  readonly execution: "sync";
  readonly flavor: "last-resort";
}) => void;

/**
 * Ends what only the start needed: what was compiled is kept for the next one, and memory goes back to
 * the system. By itself V8 keeps the pages that it has freed as long as nothing else wants memory:
 * 350 MB where 190 are in use (sandbox, measured). Blocks the process for 0.2 to 0.4 s.
 */
export function collectGarbage(): void {
  flushCompileCache();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as Collect;
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
  setFlagsFromString("--no-expose-gc");
}
