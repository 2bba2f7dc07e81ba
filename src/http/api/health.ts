import { setTimeout as delay } from "node:timers/promises";
import { isoInstant } from "../../answers/shared-members.ts";
import { runningMethod } from "../../method/running.ts";
import type { JsonAnswer } from "../../openapi/operation.ts";
import { serviceStatusOperations } from "../../openapi/operations/service-status.ts";
import { programVersion } from "../../telemetry/program-version.ts";
import type { ComponentStates, Readiness } from "../../telemetry/readiness.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { routeOf } from "../mount.ts";
import type { Route } from "../route-table.ts";
import { sendJson } from "../send-response.ts";

const [getHealth, getReadiness, getLiveness] = serviceStatusOperations;

/** Dependencies of the health routes. */
interface HealthOptions {
  readonly context: ToolContext;
  readonly name: string;
  readonly readiness: Readiness;
  readonly now: () => Date;
}

/**
 * Value of the response member `security`: the active protections. The API contract does not
 * specify its text.
 */
const SECURITY =
  "Sanitization is active: input is validated and bounded, markup and control characters in text are refused, output is encoded. Rate limiting is active. Protected routes need a token or an API key.";

/**
 * Maximum wait for the readiness checks, in milliseconds; after that, the health response is sent
 * without their results.
 */
const MAX_WAIT_MS = 700;

/** Reasons reported when the readiness checks do not finish in time. */
const TIMED_OUT = [`checks: not finished within ${MAX_WAIT_MS} ms`];

/**
 * GET /api/health, public. It always returns 200: `status` is `ok`, or `degraded` with
 * `reasons`.
 */
export function healthRoute({ context, name, readiness, now }: HealthOptions): Route {
  const { market } = context;
  const simulated = market.source.simulated;
  const about = `market ${market.mode}${simulated ? " (simulated data)" : ""}`;
  return routeOf(getHealth, async ({ res }) => {
    const reasons = await failureReasons(readiness);
    const health: JsonAnswer<typeof getHealth> = {
      status: reasons.length === 0 ? "ok" : "degraded",
      ...(reasons.length > 0 && { reasons: [...reasons] }),
      engine: `${name} ${programVersion()}, ${about}`,
      timestamp: now().toISOString(),
      security: SECURITY,
      market: market.mode,
      simulated,
      asOf: isoInstant(market.knownUntil()),
      instruments: market.instruments().length,
      methodVersion: runningMethod().version,
    };
    sendJson(res, JSON.stringify(health));
  });
}

/**
 * GET /readyz and GET /livez, public. /readyz returns 200 when requests can be served, and 503 when
 * a load balancer should send them elsewhere. /livez returns 200 whenever the process responds.
 */
export function probeRoutes(checkReadiness: Readiness): readonly Route[] {
  return [
    routeOf(getReadiness, async ({ res }) => {
      const { required, optional } = await checkReadiness();
      const isReady = areHealthy(required);
      const whenReady = areHealthy(optional) ? "ready" : "degraded";
      if (!isReady) res.setHeader("Retry-After", "1");
      res.statusCode = isReady ? 200 : 503;
      const readiness: JsonAnswer<typeof getReadiness> = {
        status: isReady ? whenReady : "unavailable",
        checks: { ...required, ...optional },
      };
      sendJson(res, JSON.stringify(readiness));
    }),
    routeOf(getLiveness, ({ res }) => {
      const liveness: JsonAnswer<typeof getLiveness> = { status: "alive" };
      sendJson(res, JSON.stringify(liveness));
    }),
  ];
}

const areHealthy = (checks: ComponentStates): boolean =>
  Object.values(checks).every(({ ok }) => ok);

/** One line for each failing component, as `/readyz` reports it; empty when all are healthy. */
async function failureReasons(readiness: Readiness): Promise<readonly string[]> {
  const reasons = readiness().then(({ required, optional }) =>
    Object.entries({ ...required, ...optional })
      .filter(([, { ok }]) => !ok)
      .map(([part, { detail }]) => `${part}: ${detail}`),
  );
  return Promise.race([reasons, delay(MAX_WAIT_MS, TIMED_OUT, { ref: false })]);
}
