import { isDeepStrictEqual } from "node:util";
import type { Config } from "../../src/config/config.ts";
import { type ScoredMarket, scoredMarket } from "../../src/ingest/create.ts";
import { openMarket } from "../../src/sources/open-market.ts";

/** The sandbox of services that begin at the same instant. */
const SANDBOX = { kind: "sandbox", sessionSeconds: 60, seed: 1 } as const;

/** Whether the settings of a service ask for that sandbox, read as usual. */
export const isUsualSandbox = ({ market, socialModelFile }: Config): boolean =>
  socialModelFile === undefined && isDeepStrictEqual(market, SANDBOX);

const idle: ScoredMarket[] = [];

/**
 * Lends a sandbox that is scored up to an instant, because scoring one takes half a second of CPU and
 * more. One service has it at a time; it is lent again unless its time has moved on meanwhile.
 */
export async function borrowSandbox(
  now: Date,
): Promise<{ readonly sandbox: ScoredMarket; giveBack(): void }> {
  const sandbox = idle.pop() ?? scoredMarket(await openMarket(SANDBOX, {}));
  const until = sandbox.clock.advance(now.getTime());
  sandbox.engine.refresh(until);
  const hasMovedOn = () => sandbox.snapshots.allNewest().some(({ at }) => at > until);
  return {
    sandbox,
    giveBack() {
      if (!hasMovedOn()) idle.push(sandbox);
    },
  };
}
