import { verdictByStatus } from "../../delivery/endpoint.ts";
import { plainText } from "../message.ts";
import type { ChatService } from "./service.ts";

/** The webhook was revoked, its channel is archived, or its URL was never one (Slack, "Sending messages
 *  using incoming webhooks": `no_service`, `invalid_token`, `channel_is_archived`). */
const GONE = [403, 404, 410];

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Slack by incoming webhooks. Only `&`, `<` and `>` are special once `mrkdwn` is off. */
export const slack: ChatService<"slack"> = {
  // Slack recommends at most 4,000 characters.
  maxBytes: 4_000,
  textOf: (message) => plainText(message).replace(/[&<>]/g, (mark) => ENTITIES[mark] ?? mark),
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
  verdictOn: (response) => verdictByStatus(response, GONE),
};
