import { verdictOfHttpStatus } from "../../delivery/endpoint.ts";
import { messagePlainText } from "../message.ts";
import type { ChatService } from "./service.ts";
import { type WebhookUrlShape, webhookUrlFault } from "./webhook-url.ts";

/** An incoming webhook of a Slack channel. */
interface SlackTarget {
  readonly kind: "slack";
  /** URL of the webhook; contains its credential. */
  readonly url: string;
}

const WEBHOOK: WebhookUrlShape = {
  hosts: ["hooks.slack.com", "hooks.slack-gov.com"],
  path: /^\/services\/[\w-]+\/[\w-]+\/[\w-]+$/,
  example: "https://hooks.slack.com/services/…",
};

/**
 * HTTP statuses after which the webhook is treated as gone: it was revoked, its Slack channel is
 * archived, or the URL was never valid (Slack, "Sending messages using incoming webhooks":
 * `no_service`, `invalid_token`, `channel_is_archived`).
 */
const GONE = [403, 404, 410];

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * Sends messages to Slack through incoming webhooks. With `mrkdwn` off, only `&`, `<` and `>` need
 * escaping.
 */
export const slack: ChatService<SlackTarget> = {
  name: "Slack",
  form: {
    about:
      "In Slack, create an app with “Incoming Webhooks”, add a webhook to a channel, and copy its URL.",
    to: { label: "Webhook URL", type: "url", example: WEBHOOK.example },
  },
  parse: ({ to }, policy) =>
    webhookUrlFault(to, policy, WEBHOOK) ?? { kind: "slack", url: new URL(to).href },
  hint: ({ url }) => new URL(url).host,
  identity: ({ url }) => new URL(url).pathname,
  chosenUrl: () => undefined,
  // Slack recommends at most 4,000 characters.
  maxBytes: 4_000,
  textOf: (message) =>
    messagePlainText(message).replace(/[&<>]/g, (mark) => ENTITIES[mark] ?? mark),
  request: ({ url }, message) => ({
    url,
    headers: {},
    body: JSON.stringify({
      text: slack.textOf(message),
      mrkdwn: false,
      unfurl_links: false,
      unfurl_media: false,
    }),
  }),
  verdictOn: (response) => verdictOfHttpStatus(response, GONE),
};
