import { type Request, Router } from "express";
import { onlyMethods } from "../allowed-methods.ts";
import { queryOf } from "../request-context.ts";
import { answerForAgent, askForCode, showAgent } from "./claim-by-code.ts";
import { agreeToAgent, showAttempt } from "./claim-by-link.ts";
import {
  type ClaimRoutesOptions,
  type ClaimVisit,
  type FreshHandler,
  forFreshSignIn,
} from "./claim-visit.ts";
import { readForm, submittedValue } from "./form.ts";
/** The pages where a person claims an agent. */
export function claimRoutes(options: ClaimRoutesOptions): Router {
  const router = Router();
  const posted = (name: Name, handle: FreshHandler) => [
    ...readForm,
    forFreshSignIn(options, { by: "requireOwnForm", place: (req) => placeOf(req, name) }, handle),
  ];
  router
    .route("/claim")
    .get(forFreshSignIn(options, { by: "openPage", place: placeAsked }, open))
    .post(...posted("agent", showAgent))
    .all(onlyMethods(["get", "post"]));
  router
    .route("/claim/confirm")
    .post(...posted("agent", answerForAgent))
    .all(onlyMethods(["post"]));
  router
    .route("/claim/approve")
    .post(...posted("attempt", agreeToAgent))
    .all(onlyMethods(["post"]));
  return router;
}

/** Query parameter of the page: an agent id, or the attempt id of an agent's link. */
type Name = "agent" | "attempt";

const fields = { agent: "agent_id", attempt: "attempt" } as const;

const placeOf = (req: Request, name: Name): string =>
  place(name, submittedValue(req, fields[name]));

function placeAsked(req: Request): string {
  const query = queryOf(req);
  const name = query.has("attempt") ? "attempt" : "agent";
  return place(name, query.get(name) ?? undefined);
}

const place = (name: Name, value: string | undefined): string =>
  value ? `/claim?${name}=${encodeURIComponent(value)}` : "/claim";

function open(visit: ClaimVisit, options: ClaimRoutesOptions): Promise<void> {
  const attempt = queryOf(visit.req).get("attempt");
  return attempt === null ? askForCode(visit, options) : showAttempt(visit, options, { attempt });
}
