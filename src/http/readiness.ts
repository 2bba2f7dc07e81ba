import { Router } from "express";
import { onlyMethods } from "./methods.ts";

/** What one part says about itself. */
export interface Check {
  readonly ok: boolean;
  /** For the operator; holds nothing a stranger must not know. */
  readonly detail: string;
}

/** Asks every part whether it can do its work now, by name. */
export type Readiness = () => Promise<Readonly<Record<string, Check>>>;

/**
 * GET /readyz, open to everyone: 200 when requests can be served, 503 when a load balancer should
 * send them elsewhere. GET /api/health answers whatever happens to the parts.
 */
export function readinessRouter(readiness: Readiness): Router {
  const router = Router();
  router
    .route("/readyz")
    .get(async (_req, res) => {
      const checks = await readiness();
      const isReady = Object.values(checks).every(({ ok }) => ok);
      const status = isReady ? "ready" : "unavailable";
      if (!isReady) res.set("retry-after", "1");
      res
        .status(isReady ? 200 : 503)
        .set("cache-control", "no-store")
        .json({ status, checks });
    })
    .all(onlyMethods(["get"]));
  return router;
}
