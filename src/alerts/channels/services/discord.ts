import { verdictOfHttpStatus } from "../../delivery/endpoint.ts";
import { messagePlainText } from "../message.ts";
import { type ChatService, readJsonSecondsAsMs } from "./service.ts";
import { type WebhookUrlShape, webhookUrlFault } from "./webhook-url.ts";

/** A webhook of a Discord channel. */
interface DiscordTarget {
  readonly kind: "discord";
  /** URL of the webhook; contains its credential. */
  readonly url: string;
}

const WEBHOOK: WebhookUrlShape = {
  hosts: ["discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com"],
  path: /^\/api\/(v\d{1,3}\/)?webhooks\/\d{5,25}\/[\w-]{10,200}$/,
  example: "https://discord.com/api/webhooks/…",
};

/**
 * HTTP statuses after which the webhook is treated as gone: it was deleted (Discord error code
 * 10015), or its token is wrong (50027).
 */
const GONE = [401, 404];

/** Message flag `SUPPRESS_EMBEDS`, which turns off link previews (Discord, "Message Flags"). */
const SUPPRESS_EMBEDS = 4;

/** Characters that have a meaning in Discord's Markdown. */
const MARKDOWN = /[\\*_~`|>#[\]()-]/g;

/**
 * A line that is a URL. It is not escaped, because an added backslash would become part of the URL.
 */
const URL_LINE = /^https?:\/\/\S+$/;

/** Sends messages to Discord through webhooks. */
export const discord: ChatService<DiscordTarget> = {
  name: "Discord",
  form: {
    about: "In Discord, edit a channel, open Integrations, create a webhook, and copy its URL.",
    to: { label: "Webhook URL", type: "url", example: WEBHOOK.example },
  },
  parse: ({ to }, policy) =>
    webhookUrlFault(to, policy, WEBHOOK) ?? { kind: "discord", url: new URL(to).href },
  hint: ({ url }) => new URL(url).host,
  identity: ({ url }) => new URL(url).pathname.replace(/^.*\/webhooks\//, ""),
  chosenUrl: () => undefined,
  // Discord limits `content` to 2,000 characters.
  maxBytes: 2_000,
  textOf: (message) =>
    messagePlainText(message)
      .split("\n")
      .map((line) => (URL_LINE.test(line) ? line : line.replace(MARKDOWN, "\\$&")))
      .join("\n"),
  request: ({ url }, message) => ({
    url,
    headers: {},
    body: JSON.stringify({
      content: discord.textOf(message),
      allowed_mentions: { parse: [] },
      flags: SUPPRESS_EMBEDS,
    }),
  }),
  verdictOn: (response) => {
    const verdict = verdictOfHttpStatus(response, GONE);
    const retryAfterMs =
      readJsonSecondsAsMs(response.body, ["retry_after"]) ?? verdict.retryAfterMs;
    return { ...verdict, retryAfterMs };
  },
};
