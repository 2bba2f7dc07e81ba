import { setTimeout as delay } from "node:timers/promises";
import { Router } from "express";
import { isoInstant } from "../../answers/common.ts";
import { METHOD_VERSION } from "../../score/snapshot.ts";
import type { ToolContext } from "../../tool.ts";
import { onlyMethods } from "../allowed-methods.ts";
import type { Readiness } from "./readiness.ts";

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
export function healthRouter({ context, name, version, readiness, now }: HealthOptions): Router {
  const { market } = context;
  const simulated = market.source.simulated;
  const engine = `${name} ${version}, market ${market.mode}${simulated ? " (simulated data)" : ""}`;
  const router = Router();
  router
    .route("/api/health")
    .get(async (_req, res) => {
      const reasons = await reasonsToWorry(readiness);
      res.set("cache-control", "no-store").json({
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
      });
    })
    .all(onlyMethods(["get"]));
  return router;
}

/** One clause for each part that is not well, as `/readyz` says it; none where all are. */
async function reasonsToWorry(readiness: Readiness): Promise<readonly string[]> {
  const told = readiness().then(({ needed, wanted }) =>
    Object.entries({ ...needed, ...wanted })
      .filter(([, { ok }]) => !ok)
      .map(([part, { detail }]) => `${part}: ${detail}`),
  );
  return Promise.race([told, delay(WAIT_MS, UNANSWERED, { ref: false })]);
}
