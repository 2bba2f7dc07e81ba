import { isDeepStrictEqual } from "node:util";
import type { Config } from "../../src/config/config.ts";
import { createScoredMarket, type ScoredMarket } from "../../src/ingest/create.ts";
import { openMarket } from "../../src/sources/open-market.ts";

/** Settings of the default sandbox. */
const SANDBOX = { kind: "sandbox", sessionSeconds: 60, seed: 1 } as const;

/** Whether a service with these settings can use a sandbox of the pool. */
export const usesPooledSandbox = ({ market }: Config): boolean =>
  isDeepStrictEqual(market, SANDBOX);

const idle: ScoredMarket[] = [];

/** A sandbox that is reserved for one service until its release. */
interface PooledSandbox {
  readonly sandbox: ScoredMarket;
  /** Returns the sandbox to the pool, unless its clock has advanced meanwhile. */
  release(): void;
}

/**
 * Takes a sandbox from the pool and scores it up to an instant. Scoring a new sandbox takes at
 * least half a second of CPU time.
 */
export async function acquireSandbox(now: Date): Promise<PooledSandbox> {
  const sandbox = idle.pop() ?? createScoredMarket(await openMarket(SANDBOX, {}));
  const until = sandbox.clock.advance(now.getTime());
  sandbox.engine.refresh(until);
  const hasMovedOn = () => sandbox.snapshots.allNewest().some(({ at }) => at > until);
  return {
    sandbox,
    release() {
      if (!hasMovedOn()) idle.push(sandbox);
    },
  };
}
