import { Router } from "express";
import { onlyMethods } from "../allowed-methods.ts";

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

/**
 * GET /readyz and GET /livez, open to everyone. /readyz: 200 when requests can be served, 503 when a
 * load balancer should send them elsewhere. /livez: 200 whenever the process can answer at all.
 * GET /api/health answers whatever happens to the parts.
 */
export function readinessRouter(readiness: Readiness): Router {
  const router = Router();
  router
    .route("/readyz")
    .get(async (_req, res) => {
      const { needed, wanted } = await readiness();
      const isReady = areWell(needed);
      const whenReady = areWell(wanted) ? "ready" : "degraded";
      if (!isReady) res.set("retry-after", "1");
      res
        .status(isReady ? 200 : 503)
        .set("cache-control", "no-store")
        .json({ status: isReady ? whenReady : "unavailable", checks: { ...needed, ...wanted } });
    })
    .all(onlyMethods(["get"]));
  router
    .route("/livez")
    .get((_req, res) => {
      res.set("cache-control", "no-store").json({ status: "alive" });
    })
    .all(onlyMethods(["get"]));
  return router;
}

const areWell = (checks: Checks): boolean => Object.values(checks).every(({ ok }) => ok);
