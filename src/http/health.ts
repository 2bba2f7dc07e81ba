import { Router } from "express";
import { isoInstant } from "../answers/common.ts";
import { METHOD_VERSION } from "../score/snapshot.ts";
import type { ToolContext } from "../tool.ts";
import { onlyMethods } from "./methods.ts";

/** What the health answer says about the process. */
export interface HealthOptions {
  readonly context: ToolContext;
  readonly name: string;
  readonly version: string;
  readonly now: () => Date;
}

/** Spec 2.1 leaves the words of `security` open: they say what is active. */
const SECURITY =
  "Inputs are validated and bounded, outputs are encoded, protected routes need a token or key; rate limiting is active.";

/** GET /api/health (spec 4.1), open to everyone. */
export function healthRouter({ context, name, version, now }: HealthOptions): Router {
  const { market } = context;
  const simulated = market.source.simulated;
  const engine = `${name} ${version}, market ${market.mode}${simulated ? " (simulated data)" : ""}`;
  const router = Router();
  router
    .route("/api/health")
    .get((_req, res) => {
      res.set("cache-control", "no-store").json({
        status: "ok",
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
