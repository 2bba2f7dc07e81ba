import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { html } from "../../markup/html.ts";
import { grantsNoScope, howToRemove, reviewForm, reviewPage } from "./claim-review.ts";
import type { ClaimVisit } from "./claim-visit.ts";
import { copyButton, copyScriptHref } from "./copy.ts";
import { untrustedText } from "./elements.ts";
import { type Refused, readForm, refuseForm, submittedValue } from "./form.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { NO_SCOPE_SELECTED, sentScopes } from "./scopes-field.ts";

/**
 * Shows the agent whose link the person opened.
 *
 * @param attempt Id of the claim attempt in the link.
 */
export async function reviewByLink(
  visit: ClaimVisit,
  context: PageContext,
  attempt: string,
  refused?: Refused,
): Promise<void> {
  const { res, browser, session } = visit;
  const { accountId } = session;
  const agent = await context.claims.findByAttempt(attempt, accountId);
  if (agent === undefined) return context.show(res, invalidLinkPage);
  if (agent === "wrong_account") {
    const account = await context.accounts.find(accountId);
    return context.show(res, wrongAccountPage(account?.label ?? accountId));
  }
  const { formToken } = browser;
  const button = "Agree and show me the code";
  const step = { action: "/claim/approve", bait: "a link to this page", button };
  context.show(res, reviewPage({ agent, formToken, refused, hidden: { attempt }, ...step }));
}

/** Stores the person's approval, and shows the code for the agent. */
export async function approveClaim(visit: ClaimVisit, context: PageContext): Promise<void> {
  const { req, res, session } = visit;
  const { accountId } = session;
  await requireAdmission(context.limits, "claims", partyAt(req.ip, accountId));
  const attempt = submittedValue(req, "attempt") ?? "";
  const { data, refused } = readForm(reviewForm, req);
  if (refused !== undefined) return reviewByLink(visit, context, attempt, refused);
  const scopes = data.scope;
  const agent = await context.claims.findByAttempt(attempt, accountId);
  if (typeof agent === "object" && grantsNoScope(agent, scopes)) {
    const again = refuseForm(reviewForm, req, { scope: NO_SCOPE_SELECTED });
    return reviewByLink(visit, context, attempt, again);
  }
  const choice = { accountId, scopes, shown: sentScopes(req, "held") };
  const confirmed = await context.claims.confirm(attempt, choice);
  context.show(res, confirmed ? claimCodePage(confirmed.code) : invalidLinkPage);
}

/** The page with the code that a person gives to the agent. */
const claimCodePage = (code: string): PageAnswer => ({
  heading: "Give this code to your agent",
  isSignedIn: true,
  scriptPath: copyScriptHref,
  body: html`<p class="lead">The claim is complete as soon as the agent has used it.</p>
<p class="secret code-shown"><code id="claim-code">${code}</code></p>
<p class="buttons">${copyButton("claim-code", "the code")}</p>
<p>It works once, for this agent only, and as long as the link that brought you here. Do not give it to anybody else, and close this page once the agent has it.</p>
${howToRemove}`,
});

const invalidLinkPage: PageAnswer = {
  status: 400,
  heading: "This link is no longer valid",
  isSignedIn: true,
  body: html`<p class="lead">It was already used, has expired, or is incomplete.</p>
<p>Ask your agent for a new one.</p>`,
};

/**
 * The page shown when the agent specified the email address of a person other than the one who is
 * signed in.
 */
const wrongAccountPage = (person: string): PageAnswer => ({
  status: 403,
  heading: "This agent is waiting for another person",
  isSignedIn: true,
  body: html`<p class="lead">It named another email address than that of <strong>${untrustedText(person)}</strong>.</p>
<p>If that address is yours too, sign out on <a href="/account">your account page</a> and sign in with it. Otherwise, there is nothing for you to do here.</p>`,
});
