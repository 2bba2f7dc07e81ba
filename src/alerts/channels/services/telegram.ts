import { verdictOfHttpStatus } from "../../delivery/endpoint.ts";
import type { WebhookResponse } from "../../delivery/sender.ts";
import { messagePlainText } from "../message.ts";
import { type ChatService, jsonMemberAt, readJsonSecondsAsMs } from "./service.ts";

/**
 * HTTP statuses after which the chat is treated as gone: the token was revoked (401, 404), or the
 * bot was blocked or removed from the chat (403).
 */
const GONE = [401, 403, 404];

/** Matches the 400 response for a chat that was deleted, or that the bot can no longer see. */
const NO_CHAT = /\bchat not found\b/;

/** Numeric id of a supergroup. */
const SUPERGROUP = /^-\d{1,20}$/;

/** Sends messages to Telegram through the Bot API. @param origin Origin of the Bot API server. */
export const createTelegramService = (origin: string): ChatService<"telegram"> => ({
  // Telegram limits `text` to 4,096 characters.
  maxBytes: 4_096,
  textOf: messagePlainText,
  request: ({ token, chatId }, message) => ({
    url: `${origin}/bot${token}/sendMessage`,
    headers: {},
    body: JSON.stringify({
      chat_id: chatId,
      // parse_mode is not set, so that no character has a special meaning.
      text: messagePlainText(message),
      link_preview_options: { is_disabled: true },
    }),
  }),
  verdictOn: (response) => {
    const verdict = verdictOfHttpStatus(response, GONE);
    const retryAfterMs =
      readJsonSecondsAsMs(response.body, ["parameters", "retry_after"]) ?? verdict.retryAfterMs;
    const isGone = verdict.isGone || isWithoutChat(response);
    return { ...verdict, isGone, retryAfterMs };
  },
  // A group that becomes a supergroup gets a new id (Bot API, "ResponseParameters").
  movedTo: (target, { status, body }) => {
    const chatId = String(jsonMemberAt(body, ["parameters", "migrate_to_chat_id"]));
    return status === 400 && SUPERGROUP.test(chatId) ? { ...target, chatId } : undefined;
  },
});

function isWithoutChat({ status, body }: WebhookResponse): boolean {
  const description = jsonMemberAt(body, ["description"]);
  return status === 400 && typeof description === "string" && NO_CHAT.test(description);
}
