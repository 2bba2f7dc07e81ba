import { type Request, type Response, Router } from "express";
import { z } from "zod";
import type { Accounts } from "../../auth/accounts/accounts.ts";
import type { Session } from "../../auth/accounts/sessions.ts";
import type { Interaction, Interactions } from "../../auth/oidc/interactions.ts";
import { isScope } from "../../auth/scopes.ts";
import { onlyMethods } from "../methods.ts";
import { queryOf } from "../query.ts";
import type { PageAnswer, ShowPage } from "./answer.ts";
import { type ConsentView, consentPage } from "./consent.ts";
import { SCOPES_ID } from "./elements.ts";
import { type Door, filled, readForm, Ticked } from "./form.ts";
import { followsForm, goOnPage } from "./go-on.ts";
import { html } from "./html.ts";
import { withReturn } from "./return-to.ts";

/** What the pages of an authorization request need. */
export interface InteractionRoutesOptions {
  readonly door: Door;
  readonly show: ShowPage;
  readonly accounts: Accounts;
  readonly interactions: Interactions;
}

type UidRequest = Request<{ uid: string }>;

const DecisionForm = z.object({ decision: z.enum(["allow", "deny"]), scope: Ticked });

const NOTHING_CHOSEN = "Choose at least one thing that it may do, or refuse.";

/** Says in the address that the browser has begun anew after a form. */
const ANEW = "anew";

const overPage: PageAnswer = {
  status: 400,
  heading: "This request is over",
  body: html`<p class="lead">It took too long, was answered already, or began in another browser.</p>
<p>Go back to the application and start again from there.</p>`,
};

/** The pages where a person answers an authorization request (RFC 6749 section 4.1.1). */
export function interactionRoutes(options: InteractionRoutesOptions): Router {
  const router = Router();
  router
    .route("/oauth/interaction/:uid")
    .get((req, res) => look(req, res, options))
    .post(...readForm, (req: UidRequest, res: Response) => decide(req, res, options))
    .all(onlyMethods(["get", "post"]));
  return router;
}

async function look(req: UidRequest, res: Response, options: InteractionRoutesOptions) {
  const { door, show, interactions } = options;
  const { session, formToken } = await door.enter(req, res);
  const interaction = await interactionOf(req, res, interactions);
  if (interaction === undefined) return show(res, overPage);
  if (session === undefined || session.signedInAt < interaction.signedInSince) {
    return res.redirect(303, withReturn("/sign-in", req.path));
  }
  if (interaction.prompt === "consent") {
    const person = await personOf(session, options);
    return show(res, consentPage({ ...asked(interaction), formToken, person }));
  }
  if (followsForm(req) && !queryOf(req).has(ANEW)) {
    return show(res, goOnPage(`${req.path}?${ANEW}`));
  }
  await interactions.signIn(req, res, session);
}

async function decide(req: UidRequest, res: Response, options: InteractionRoutesOptions) {
  const { door, show, interactions } = options;
  const { session, formToken } = await door.enterByForm(req);
  const interaction = await interactionOf(req, res, interactions);
  if (interaction?.prompt !== "consent") return show(res, overPage);
  if (session === undefined) return res.redirect(303, withReturn("/sign-in", req.path));

  const { data } = filled(DecisionForm, req);
  if (data?.decision === "deny") return interactions.deny(req, res);
  const scopes = interaction.scopes.filter(isScope);
  const allowed = scopes.filter((name) => data?.scope.includes(name));
  const isChosen = allowed.length > 0 || scopes.length === 0;
  if (data !== undefined && isChosen) return interactions.consent(req, res, allowed);
  const errors = [{ id: SCOPES_ID, text: NOTHING_CHOSEN }];
  const person = await personOf(session, options);
  show(res, consentPage({ ...asked(interaction), formToken, person, errors }));
}

/** The request that an address is about, if it began in this browser. */
async function interactionOf(
  req: UidRequest,
  res: Response,
  interactions: Interactions,
): Promise<Interaction | undefined> {
  const interaction = await interactions.find(req, res);
  return interaction?.uid === req.params.uid ? interaction : undefined;
}

const asked = ({
  uid,
  client,
  scopes,
}: Interaction): Pick<ConsentView, "uid" | "client" | "asked"> => ({
  uid,
  client,
  asked: scopes.filter(isScope),
});

async function personOf(
  { accountId }: Session,
  { accounts }: InteractionRoutesOptions,
): Promise<string> {
  return (await accounts.find(accountId))?.label ?? "a removed account";
}
