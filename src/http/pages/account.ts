import { Router } from "express";
import { type Html, html } from "../../markup/html.ts";
import type { Account } from "../../principals/accounts/accounts.ts";
import type { ConnectedApplication } from "../../principals/accounts/connected-applications.ts";
import type { OwnedAgent } from "../../principals/accounts/owned-agents.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { type ChannelsView, channelRoutes, channelsSection } from "./account-channels.ts";
import { type KeysView, keyRoutes, keysSection } from "./account-keys.ts";
import { type WatchlistsView, watchlistRoutes, watchlistsSection } from "./account-watchlists.ts";
import { type AlertsView, alertsSection, MAX_ALERTS_SHOWN } from "./alerts-section.ts";
import {
  descriptionList,
  lastUseText,
  scopeLabels,
  timeElement,
  untrustedHost,
  untrustedText,
  unverifiedTitle,
} from "./elements.ts";
import type { Refused } from "./form.ts";
import { buttonForm, destructiveAction } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { ACCOUNT_PATH } from "./return-to.ts";
import { createServeSignedIn, mountSignedInForm, type SignedInVisit } from "./signed-in.ts";

/**
 * Routes of the account page, where a person reviews and ends what acts on their behalf, and of the
 * forms on it.
 */
export function accountRoutes(context: PageContext): Router {
  const { accounts, alerts } = context;
  const router = Router();
  const signedIn = createServeSignedIn(context);
  router
    .route(ACCOUNT_PATH)
    .get(signedIn("openPage", (visit) => showAccount(visit, context)))
    .all(rejectOtherMethods(["get"]));
  const mountRemoval = (what: string, end: (accountId: string, id: string) => Promise<unknown>) =>
    mountSignedInForm(
      router,
      context,
      `${ACCOUNT_PATH}/${what}/:id/remove`,
      async ({ req, res, account }) => {
        await end(account.id, String(req.params.id));
        res.redirect(303, ACCOUNT_PATH);
      },
    );
  mountRemoval("agents", (accountId, id) => accounts.removeAgent(accountId, id));
  mountRemoval("applications", (accountId, id) => accounts.removeApplication(accountId, id));
  mountRemoval("alerts", (accountId, id) => alerts.removeForAccount(accountId, id));
  const showAgain = (visit: SignedInVisit, refused: Refused) =>
    showAccount(visit, context, refused);
  router.use(keyRoutes(context, showAgain), channelRoutes(context, showAgain));
  return router.use(watchlistRoutes(context, showAgain));
}

/**
 * Shows the account page.
 *
 * @param refused The form of the page that was just refused.
 */
async function showAccount(
  { res, browser, account }: SignedInVisit,
  { show, accounts, keys, alerts, watchlists: lists, channels, isMailShownToOperator }: PageContext,
  refused?: Refused,
): Promise<void> {
  const [agents, applications, ownKeys, answered, watchlists, ownChannels] = await Promise.all([
    accounts.agentsOf(account.id),
    accounts.applicationsOf(account.id),
    keys.list(account.id),
    loadAlerts(account.id, alerts),
    lists.listForAccount(account.id),
    channels.list(account.id),
  ]);
  const { formToken } = browser;
  const acting = { account, agents, applications, keys: ownKeys, channels: ownChannels };
  const sent = { ...acting, isMailShownToOperator };
  show(res, accountPage({ formToken, ...sent, watchlists, ...answered, refused }));
}

async function loadAlerts(
  accountId: string,
  alerts: PageContext["alerts"],
): Promise<Pick<AlertsView, "alerts" | "moreAlerts">> {
  const all = await alerts.listForAccount(accountId);
  const shown = all.slice(0, MAX_ALERTS_SHOWN).map(async (seen) => {
    const isSent = seen.alert.way.by !== "poll";
    return { ...seen, lastSuccessAt: isSent ? await alerts.lastSuccess(seen.id) : undefined };
  });
  return { alerts: await Promise.all(shown), moreAlerts: all.length - shown.length };
}

/** Data for the account page. */
interface AccountView extends KeysView, AlertsView, WatchlistsView, ChannelsView {
  readonly account: Account;
  readonly agents: readonly OwnedAgent[];
  readonly applications: readonly ConnectedApplication[];
}

/**
 * The account page: alerts, channels, watchlists, keys, agents and applications, each with a way to
 * remove it.
 */
function accountPage(view: AccountView): PageAnswer {
  const { formToken, account, agents, applications, refused } = view;
  return {
    heading: "Your account",
    place: "account",
    isSignedIn: true,
    errors: refused?.errors,
    body: html`<div class="who">
<p>Signed in as <strong>${untrustedText(account.label)}</strong></p>
${buttonForm({ action: "/sign-out", formToken }, html`<button class="second">Sign out</button>`)}
</div>
${section("alerts", "Your alerts", alertsSection(view))}
${section("channels", "Your channels", channelsSection(view))}
${section("watchlists", "Your watchlists", watchlistsSection(view))}
${section("keys", "Your keys", keysSection(view))}
${section("agents", "Your agents", agentsList(agents, formToken))}
${section("applications", "Connected applications", applicationsList(applications, formToken))}`,
  };
}

const section = (id: string, heading: string, inside: Html): Html =>
  html`<section aria-labelledby="${id}"><h2 id="${id}">${heading}</h2>${inside}</section>`;

function agentsList(agents: readonly OwnedAgent[], formToken: string): Html {
  if (agents.length === 0) {
    return html`<div class="empty">
<p>An agent that you claim may do more than an unclaimed one, and it stays registered while it is inactive.</p>
<p>Tell your agent to ask for a claim. It gives you a link, or its id and a code.</p>
<p class="buttons"><a class="second" href="/claim">Claim an agent</a></p>
</div>`;
  }
  return html`<ul class="cards">${agents.map((agent) => agentCard(agent, formToken))}</ul>
<p class="buttons"><a class="second" href="/claim">Claim another agent</a></p>`;
}

function agentCard(agent: OwnedAgent, formToken: string): Html {
  const { agentId, name, scopes, claimedAt, claimedBy, lastUsedAt } = agent;
  return html`<li class="card">
<h3>${unverifiedTitle("Agent", name)}</h3>
${descriptionList([
  ["Id", html`<code>${untrustedText(agentId)}</code>`],
  ["Access", scopeLabels(scopes)],
  ["Claimed", timeElement(claimedAt)],
  ...(claimedBy === undefined ? [] : [claimedByFact(claimedBy)]),
  ["Last use", lastUseText(lastUsedAt, claimedAt)],
])}
${destructiveAction({
  action: `/account/agents/${encodeURIComponent(agentId)}/remove`,
  formToken,
  summary: "Remove this agent",
  consequence:
    "Its registration and all its tokens end at once. It cannot come back as the same agent.",
  button: "Remove agent and end its tokens",
})}
</li>`;
}

/** Entry that identifies the application through which an agent was claimed. */
const claimedByFact = (clientId: string): readonly [string, Html] => [
  "Claimed by",
  html`application <code>${untrustedHost(clientId)}</code>; ends with its access`,
];

function applicationsList(applications: readonly ConnectedApplication[], formToken: string): Html {
  if (applications.length === 0) {
    return html`<div class="empty"><p>Applications that act for you appear here, for example a chat program with access to signals. You see what an application asks for before you allow it.</p></div>`;
  }
  return html`<ul class="cards">${applications.map((one) => applicationCard(one, formToken))}</ul>`;
}

function applicationCard(application: ConnectedApplication, formToken: string): Html {
  const { grantId, clientId, name, scopes, grantedAt } = application;
  return html`<li class="card">
<h3>${unverifiedTitle("Application", name)}</h3>
${descriptionList([
  ["Id", html`<code>${untrustedHost(clientId)}</code>`],
  ["Access", scopeLabels(scopes)],
  ["Allowed", timeElement(grantedAt)],
])}
${destructiveAction({
  action: `/account/applications/${encodeURIComponent(grantId)}/remove`,
  formToken,
  summary: "End its access",
  consequence:
    "Its tokens for your account end at once, and the agents that it claimed for you. It has to ask you again.",
  button: "End access of this application",
})}
</li>`;
}
