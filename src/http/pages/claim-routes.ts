import { type Request, Router } from "express";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { queryOf } from "../request-context.ts";
import { completeClaim, showAgent, showCodeForm } from "./claim-by-code.ts";
import { approveClaim, showApproval } from "./claim-by-link.ts";
import { type ClaimVisit, type FreshSignInHandler, requireFreshSignIn } from "./claim-visit.ts";
import { formReader, submittedValue } from "./form.ts";
import type { PageContext } from "./page-context.ts";
/** Routes of the pages where a person claims an agent. */
export function claimRoutes(options: PageContext): Router {
  const router = Router();
  const posted = (name: QueryName, handle: FreshSignInHandler) => [
    ...formReader,
    requireFreshSignIn(
      options,
      { csrfCheck: "requireOwnForm", place: (req) => returnTarget(req, name) },
      handle,
    ),
  ];
  router
    .route("/claim")
    .get(
      requireFreshSignIn(options, { csrfCheck: "openPage", place: requestedTarget }, showClaimPage),
    )
    .post(...posted("agent", showAgent))
    .all(rejectOtherMethods(["get", "post"]));
  router
    .route("/claim/confirm")
    .post(...posted("agent", completeClaim))
    .all(rejectOtherMethods(["post"]));
  router
    .route("/claim/approve")
    .post(...posted("attempt", approveClaim))
    .all(rejectOtherMethods(["post"]));
  return router;
}

/** Query parameter of the page: an agent id, or the attempt id of an agent's link. */
type QueryName = "agent" | "attempt";

const fields = { agent: "agent_id", attempt: "attempt" } as const;

const returnTarget = (req: Request, name: QueryName): string =>
  place(name, submittedValue(req, fields[name]));

function requestedTarget(req: Request): string {
  const query = queryOf(req);
  const name = query.has("attempt") ? "attempt" : "agent";
  return place(name, query.get(name) ?? undefined);
}

const place = (name: QueryName, value: string | undefined): string =>
  value ? `/claim?${name}=${encodeURIComponent(value)}` : "/claim";

function showClaimPage(visit: ClaimVisit, options: PageContext): Promise<void> {
  const attempt = queryOf(visit.req).get("attempt");
  return attempt === null
    ? showCodeForm(visit, options)
    : showApproval(visit, options, { attempt });
}
