import { setTimeout as delay } from "node:timers/promises";
import { isoInstant } from "../../answers/common.ts";
import { serviceOperations } from "../../openapi/operations/service-status.ts";
import { METHOD_VERSION } from "../../score/snapshot.ts";
import type { ToolContext } from "../../tool.ts";
import { sendJson } from "../conditional-response.ts";
import { routeOf } from "../mount.ts";
import type { Route } from "../route-table.ts";

const [, getHealth, getReadiness, getLiveness] = serviceOperations;

/** The state of one component. */
export interface Check {
  readonly ok: boolean;
  /** For the operator; public, so it holds no secrets. */
  readonly detail: string;
}

/** Checks by component name. */
type Checks = Readonly<Record<string, Check>>;

/** Checks every component. */
export type Readiness = () => Promise<{
  /** If one of these fails, load balancers should send requests elsewhere. */
  readonly needed: Checks;
  /** If one of these fails, requests are still served, with reduced function. */
  readonly wanted: Checks;
}>;

/** Dependencies of the health routes. */
export interface HealthOptions {
  readonly context: ToolContext;
  readonly name: string;
  readonly version: string;
  readonly readiness: Readiness;
  readonly now: () => Date;
}

/** The interface does not define the text of `security`; it states which protections are active. */
const SECURITY =
  "Sanitization is active: input is validated and bounded, markup and control characters in text are refused, output is encoded. Rate limiting is active. Protected routes need a token or an API key.";

/** The health response is sent after this many milliseconds even if a check has not finished. */
const WAIT_MS = 700;

/** Reported when a check does not finish in time. */
const TIMED_OUT = [`checks: not finished within ${WAIT_MS} ms`];

/**
 * GET /api/health, public. It always returns 200: `status` is `ok`, or `degraded` with
 * `reasons`.
 */
export function healthRoute({ context, name, version, readiness, now }: HealthOptions): Route {
  const { market } = context;
  const simulated = market.source.simulated;
  const engine = `${name} ${version}, market ${market.mode}${simulated ? " (simulated data)" : ""}`;
  return routeOf(getHealth, async ({ res }) => {
    const reasons = await failureReasons(readiness);
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
 * GET /readyz and GET /livez, public. /readyz returns 200 when requests can be served, and 503 when a
 * load balancer should send them elsewhere. /livez returns 200 whenever the process can respond.
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

/** One line for each failing component, as `/readyz` reports it; empty when all are healthy. */
async function failureReasons(readiness: Readiness): Promise<readonly string[]> {
  const told = readiness().then(({ needed, wanted }) =>
    Object.entries({ ...needed, ...wanted })
      .filter(([, { ok }]) => !ok)
      .map(([part, { detail }]) => `${part}: ${detail}`),
  );
  return Promise.race([told, delay(WAIT_MS, TIMED_OUT, { ref: false })]);
}
