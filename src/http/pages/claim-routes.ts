import { type Request, Router } from "express";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { queryOf } from "../request-context.ts";
import { codeForm, completeClaim, reviewByCode, showCodeForm } from "./claim-by-code.ts";
import { approveClaim, reviewByLink } from "./claim-by-link.ts";
import { reviewForm } from "./claim-review.ts";
import { type ClaimVisit, type FreshSignInHandler, requireFreshSignIn } from "./claim-visit.ts";
import { submittedValue } from "./form.ts";
import type { PageContext } from "./page-context.ts";

/** Routes of the pages where a person claims an agent. */
export function claimRoutes(context: PageContext): Router {
  const router = Router();
  const posted = (name: QueryName, handle: FreshSignInHandler) =>
    requireFreshSignIn(
      context,
      {
        csrfCheck: "requireOwnForm",
        place: (req) => place(name, submittedValue(req, fields[name])),
      },
      handle,
    );
  router
    .route("/claim")
    .get(
      requireFreshSignIn(context, { csrfCheck: "openPage", place: requestedTarget }, showClaimPage),
    )
    .post(...codeForm.reader, posted("agent", reviewByCode))
    .all(rejectOtherMethods(["get", "post"]));
  router
    .route("/claim/confirm")
    .post(...reviewForm.reader, posted("agent", completeClaim))
    .all(rejectOtherMethods(["post"]));
  router
    .route("/claim/approve")
    .post(...reviewForm.reader, posted("attempt", approveClaim))
    .all(rejectOtherMethods(["post"]));
  return router;
}

/** Query parameter of the page: an agent id, or the attempt id of an agent's link. */
type QueryName = "agent" | "attempt";

/** The field of a form that has the value of the query parameter. */
const fields = { agent: "agent_id", attempt: "attempt" } as const;

function requestedTarget(req: Request): string {
  const query = queryOf(req);
  const name = query.has("attempt") ? "attempt" : "agent";
  return place(name, query.get(name) ?? undefined);
}

const place = (name: QueryName, value: string | undefined): string =>
  value ? `/claim?${name}=${encodeURIComponent(value)}` : "/claim";

function showClaimPage(visit: ClaimVisit, context: PageContext): Promise<void> {
  const attempt = queryOf(visit.req).get("attempt");
  return attempt === null ? showCodeForm(visit, context) : reviewByLink(visit, context, attempt);
}
