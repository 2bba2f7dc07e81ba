import { setTimeout as delay } from "node:timers/promises";
import { isoInstant } from "../../answers/common.ts";
import { serviceOperations } from "../../openapi/operations/service-status.ts";
import { METHOD_VERSION } from "../../score/snapshot.ts";
import type { ToolContext } from "../../tool.ts";
import { sendJson } from "../conditional-response.ts";
import { routeOf } from "../mount.ts";
import type { Route } from "../route-table.ts";

const [, getHealth, getReadiness, getLiveness] = serviceOperations;

/** What one part says about itself. */
export interface Check {
  readonly ok: boolean;
  /** For the operator; holds nothing a stranger must not know. */
  readonly detail: string;
}

/** What parts say, by name. */
type Checks = Readonly<Record<string, Check>>;

/** Asks every part whether it can do its work now. */
export type Readiness = () => Promise<{
  /** Without these, requests are to go elsewhere. */
  readonly needed: Checks;
  /** Without these, requests are answered and something else is not done. */
  readonly wanted: Checks;
}>;

/** What the health answer says about the process. */
export interface HealthOptions {
  readonly context: ToolContext;
  readonly name: string;
  readonly version: string;
  readonly readiness: Readiness;
  readonly now: () => Date;
}

/** Spec 2.1 leaves the words of `security` open: they say what is active. */
const SECURITY =
  "Sanitization is active: input is validated and bounded, markup and control characters in text are refused, output is encoded. Rate limiting is active. Protected routes need a token or an API key.";

/** Health is told after this many milliseconds, whether or not every part has answered by then. */
const WAIT_MS = 700;

/** Where a part does not answer in time. */
const UNANSWERED = [`checks: not finished within ${WAIT_MS} ms`];

/**
 * GET /api/health (spec 4.1), open to everyone. It answers 200 whatever happens to the parts:
 * `status` is `ok`, or `degraded` with what is wrong in `reasons`.
 */
export function healthRoute({ context, name, version, readiness, now }: HealthOptions): Route {
  const { market } = context;
  const simulated = market.source.simulated;
  const engine = `${name} ${version}, market ${market.mode}${simulated ? " (simulated data)" : ""}`;
  return routeOf(getHealth, async ({ res }) => {
    const reasons = await reasonsToWorry(readiness);
    const health = {
      status: reasons.length === 0 ? "ok" : "degraded",
      ...(reasons.length > 0 && { reasons }),
      engine,
      timestamp: now().toISOString(),
      security: SECURITY,
      market: market.mode,
      simulated,
      asOf: isoInstant(market.knownUntil()),
      instruments: market.instruments().length,
      methodVersion: METHOD_VERSION,
    };
    sendJson(res, JSON.stringify(health));
  });
}

/**
 * GET /readyz and GET /livez, open to everyone. /readyz: 200 when requests can be served, 503 when a
 * load balancer should send them elsewhere. /livez: 200 whenever the process can answer at all.
 * GET /api/health answers whatever happens to the parts.
 */
export function probeRoutes(readiness: Readiness): readonly Route[] {
  return [
    routeOf(getReadiness, async ({ res }) => {
      const { needed, wanted } = await readiness();
      const isReady = areWell(needed);
      const whenReady = areWell(wanted) ? "ready" : "degraded";
      if (!isReady) res.setHeader("Retry-After", "1");
      res.statusCode = isReady ? 200 : 503;
      const status = isReady ? whenReady : "unavailable";
      sendJson(res, JSON.stringify({ status, checks: { ...needed, ...wanted } }));
    }),
    routeOf(getLiveness, ({ res }) => sendJson(res, JSON.stringify({ status: "alive" }))),
  ];
}

const areWell = (checks: Checks): boolean => Object.values(checks).every(({ ok }) => ok);

/** One clause for each part that is not well, as `/readyz` says it; none where all are. */
async function reasonsToWorry(readiness: Readiness): Promise<readonly string[]> {
  const told = readiness().then(({ needed, wanted }) =>
    Object.entries({ ...needed, ...wanted })
      .filter(([, { ok }]) => !ok)
      .map(([part, { detail }]) => `${part}: ${detail}`),
  );
  return Promise.race([told, delay(WAIT_MS, UNANSWERED, { ref: false })]);
}
