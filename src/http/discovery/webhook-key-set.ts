import { Router } from "express";
import type { WebhookKeySet } from "../../alerts/delivery/webhook-keys.ts";
import { onlyMethods } from "../allowed-methods.ts";

/**
 * GET /.well-known/webhook-keys.json: what the `v1a` signatures of deliveries are verified with;
 * readable from any web page, cacheable for five minutes.
 *
 * @param keys The set of the moment; keys are rotated while the service runs.
 */
export function webhookKeysRouter(keys: () => WebhookKeySet): Router {
  const router = Router();
  router
    .route("/.well-known/webhook-keys.json")
    .get((_req, res) => {
      res
        .set({ "access-control-allow-origin": "*", "cache-control": "public, max-age=300" })
        .json(keys());
    })
    .all(onlyMethods(["get"]));
  return router;
}
