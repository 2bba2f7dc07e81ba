import { startCaller } from "../harness/caller.ts";
import { SERVICE } from "../harness/field.ts";
import { showProgress } from "../harness/progress.ts";
import { rawRequestText } from "../harness/questions.ts";
import type { Effort, Part } from "../harness/report.ts";
import {
  cpuMicrosPerRequest,
  medianOfRounds,
  ratioOf,
  requestsPerSecond,
  takeTurns,
  type Variant,
} from "../harness/rounds.ts";
import { HEAP_FLAGS, type Server, startProduct, startServer } from "../harness/server.ts";
import { registerAgent } from "../harness/tokens.ts";

/** Number of clients for which callers request tokens, one client after the other. */
const CLIENTS = 100;

/** Lowest acceptable ratio of the service's token rate to that of oidc-provider alone. */
const LEAST = 0.85;

const BARE = "bare oidc-provider, Map adapter";

/**
 * Compares the rate at which the service issues tokens for client credentials with the rate of
 * oidc-provider alone.
 */
export async function issuance({ isQuick }: Effort): Promise<Part> {
  showProgress("Buying tokens from the service and from bare oidc-provider");
  const bare = await startServer({
    name: BARE,
    args: [...HEAP_FLAGS, "test/bench/bare-provider.ts"],
  });
  const service = await startProduct();
  const caller = startCaller();
  try {
    const variants = [await buying(service), await buying(bare)];
    const pace = { callers: 32, warmUpMs: 4_000, ms: 2_000, rounds: isQuick ? 3 : 9 };
    const rounds = await takeTurns(caller, variants, pace);
    const row = {
      ...{ budget: "tokens by client credentials", unit: "a second" },
      figure: medianOfRounds(rounds, SERVICE, requestsPerSecond),
      baseline: { name: BARE, figure: medianOfRounds(rounds, BARE, requestsPerSecond) },
      ratio: ratioOf(rounds, [SERVICE, BARE], requestsPerSecond),
      ratioByCpu: ratioOf(rounds, [BARE, SERVICE], cpuMicrosPerRequest),
      goal: { least: LEAST },
    };
    return { rows: [row], raw: rounds };
  } finally {
    caller.stop();
    await Promise.all([service.stop(), bare.stop()]);
  }
}

async function buying(server: Server): Promise<Variant> {
  const forms: string[] = [];
  while (forms.length < CLIENTS) forms.push(await registerAgent(server.tokensUrl));
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const calls = forms.map((body) => ({
    request: rawRequestText(server, { method: "POST", path: "/oauth/token", headers, body }),
    expected: '"access_token":"',
  }));
  return { name: server.name, servers: [server], calls };
}
