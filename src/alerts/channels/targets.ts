import { fingerprint } from "../../lib/fingerprint.ts";
import { EmailAddress } from "../../mail/email-address.ts";
import { countedHost, type UrlPolicy, urlFault } from "../../outbound/url-policy.ts";
import type { ChannelKind, ChannelTarget } from "./channel.ts";

/** The target of a channel, as a person types it. */
export interface ChannelTargetInput {
  readonly kind: ChannelKind;
  /** The email address, webhook URL, topic URL or, for Telegram, the chat. */
  readonly to: string;
  /** The Telegram bot's token, or the access token of an ntfy topic; empty for none. */
  readonly token: string;
}

/** What is wrong with a target that a person typed, in words for that person. */
export interface ChannelTargetFault {
  readonly field: "to" | "token";
  readonly fault: string;
}

const SLACK_HOSTS = ["hooks.slack.com", "hooks.slack-gov.com"];
const SLACK_PATH = /^\/services\/[\w-]+\/[\w-]+\/[\w-]+$/;

const DISCORD_HOSTS = ["discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com"];
const DISCORD_PATH = /^\/api\/(v\d{1,3}\/)?webhooks\/\d{5,25}\/[\w-]{10,200}$/;

/**
 * Token of a Telegram bot: the bot's id and 35 characters. The pattern allows for longer tokens in
 * the future.
 */
const TELEGRAM_TOKEN = /^\d{5,20}:[\w-]{30,100}$/;

/** Numeric id of a Telegram chat, negative for groups, or `@` and the username of a public chat. */
const TELEGRAM_CHAT = /^(-?\d{1,20}|@[A-Za-z]\w{3,31})$/;

/**
 * Path of an ntfy topic, whose name has up to 64 characters. An ntfy server has no topics at other
 * paths.
 */
const NTFY_PATH = /^\/[\w-]{1,64}$/;

const NTFY_TOKEN = /^[!-~]{1,200}$/;

/**
 * Validates a target that a person typed; returns the normalized target, or what is wrong with it.
 * The IP addresses of its host are checked later, at every connection.
 */
export function parseChannelTarget(
  { kind, to, token }: ChannelTargetInput,
  policy: UrlPolicy,
): ChannelTarget | ChannelTargetFault {
  switch (kind) {
    case "email": {
      const { success, data, error } = EmailAddress.safeParse(to);
      if (success) return { kind, to: data };
      return { field: "to", fault: `The address ${error.issues[0]?.message}.` };
    }
    case "slack": {
      const fault = hookFault(to, policy, SLACK_HOSTS, SLACK_PATH);
      if (fault === undefined) return { kind, url: new URL(to).href };
      return { field: "to", fault: `${fault} It looks like https://hooks.slack.com/services/….` };
    }
    case "discord": {
      const fault = hookFault(to, policy, DISCORD_HOSTS, DISCORD_PATH);
      if (fault === undefined) return { kind, url: new URL(to).href };
      return { field: "to", fault: `${fault} It looks like https://discord.com/api/webhooks/….` };
    }
    case "telegram": {
      if (!TELEGRAM_TOKEN.test(token)) return { field: "token", fault: "It is no token of a bot." };
      if (TELEGRAM_CHAT.test(to)) return { kind, token, chatId: to };
      return { field: "to", fault: "It is neither the number of a chat nor @ and a name." };
    }
    case "ntfy":
      return ntfyTarget(to, token, policy);
  }
}

function ntfyTarget(
  to: string,
  token: string,
  policy: UrlPolicy,
): ChannelTarget | ChannelTargetFault {
  const fault = urlFault(to, policy);
  if (fault !== undefined) return { field: "to", fault };
  const { pathname, search } = new URL(to);
  if (search !== "" || !NTFY_PATH.test(pathname)) {
    return { field: "to", fault: "It does not end with the name of a topic." };
  }
  const url = topicUrl(to);
  if (token === "") return { kind: "ntfy", url };
  if (NTFY_TOKEN.test(token)) return { kind: "ntfy", url, token };
  return { field: "token", fault: "It is no access token." };
}

/** The URL of an ntfy topic with its host in one spelling. */
function topicUrl(text: string): string {
  const url = new URL(text);
  url.hostname = countedHost(text);
  return url.href;
}

/**
 * What is wrong with the webhook URL of a chat service; `undefined` if the URL is valid. The URL
 * must be on one of the service's own hosts, unless insecure webhooks are allowed for local
 * testing.
 */
function hookFault(
  text: string,
  policy: UrlPolicy,
  hosts: readonly string[],
  path: RegExp,
): string | undefined {
  const fault = urlFault(text, policy);
  if (fault !== undefined) return fault;
  const { hostname, port, pathname, search } = new URL(text);
  const isTheirs = hosts.includes(hostname) && port === "";
  const isInsecure = policy.schemes?.includes("http:") ?? false;
  if (!isTheirs && !isInsecure) return "It is not on the service's own host.";
  return search === "" && path.test(pathname) ? undefined : "It is no webhook of the service.";
}

/** The part of a target that is not secret, for display. */
export function channelTargetHint(target: ChannelTarget): string {
  switch (target.kind) {
    case "email":
      return target.to;
    case "telegram":
      return `chat ${target.chatId} by bot ${target.token.slice(0, target.token.indexOf(":"))}`;
    default:
      return new URL(target.url).host;
  }
}

/**
 * Unique key of a target across all accounts, independent of spelling: a webhook can have several
 * hosts and path versions, and a chat is the same for every bot. The key is a hash, because the
 * target may be secret.
 */
export const channelTargetKey = (target: ChannelTarget): string =>
  fingerprint(JSON.stringify([target.kind, identityOf(target)]));

function identityOf(target: ChannelTarget): string {
  switch (target.kind) {
    case "email":
      return target.to;
    case "telegram":
      return target.chatId.toLowerCase();
    case "slack":
      return new URL(target.url).pathname;
    case "discord":
      return new URL(target.url).pathname.replace(/^.*\/webhooks\//, "");
    case "ntfy":
      // Earlier versions stored the URL as it was typed.
      return topicUrl(target.url);
  }
}
