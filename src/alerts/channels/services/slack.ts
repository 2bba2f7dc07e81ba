import { verdictOfHttpStatus } from "../../delivery/endpoint.ts";
import { messagePlainText } from "../message.ts";
import type { ChatService } from "./service.ts";

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
export const slack: ChatService<"slack"> = {
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
