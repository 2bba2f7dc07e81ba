import { type AccountView, accountPage } from "./account.ts";
import { type AlertsView, MAX_ALERTS_SHOWN } from "./alerts-section.ts";
import type { PageContext } from "./page-context.ts";
import type { SignedInVisit } from "./signed-in.ts";

/**
 * Shows the account page.
 *
 * @param wrong Errors of a submitted form, and the entered values.
 */
export async function showAccount(
  { res, browser, account }: SignedInVisit,
  { show, accounts, keys, alerts, watchlists: lists, channels, isMailShownToOperator }: PageContext,
  wrong: Pick<AccountView, "errors" | "keyName" | "refused" | "enteredChannel"> = {},
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
  show(res, accountPage({ formToken, ...sent, watchlists, ...answered, ...wrong }));
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
