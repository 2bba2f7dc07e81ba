import type { ChannelTargetInput } from "../../src/alerts/channels/targets.ts";
import type { Person } from "./person.ts";
import { textOf, type WebPage } from "./web.ts";

/** The target of a mailbox, as a person enters it. */
export const mailbox = (to: string) => ({ kind: "email", to, token: "" }) as const;

/** Adds a channel with the form for its kind. @returns The account page, with all channels. */
export async function addChannel(
  { web }: Pick<Person, "web">,
  { kind, to, token }: ChannelTargetInput,
  name = "Mine",
): Promise<WebPage> {
  const page = await web.get("/account");
  const form = page.forms.find(
    ({ action, fields }) =>
      action.endsWith("/account/channels") &&
      fields.some(([field, value]) => field === "kind" && value === kind),
  );
  if (form === undefined) throw new Error(`no form adds ${kind}`);
  return web.submit(form, { name, to, token });
}

/** The id of the channel that the account page shows first. */
export const channelIdIn = ({ html }: WebPage): string =>
  /channels\/(chan_\w{16})\//.exec(html)?.[1] ?? "";

/** The texts of the channels on the account page. */
export const channelCardsIn = ({ html }: WebPage): readonly string[] =>
  (/<section aria-labelledby="channels">(.*?)<\/section>/s.exec(html)?.[1] ?? "")
    .split('<li class="card">')
    .slice(1)
    .map(textOf);

/** Enters a code for the channel that waits for one. */
export async function enterChannelCode(
  { web }: Pick<Person, "web">,
  code: string,
): Promise<WebPage> {
  const { forms } = await web.get("/account");
  const form = forms.find(({ action }) => /\/chan_\w{16}\/verify$/.test(action));
  if (form === undefined) throw new Error("no channel waits for a code");
  return web.submit(form, { code });
}
