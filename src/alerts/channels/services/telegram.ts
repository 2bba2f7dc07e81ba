import { verdictByStatus } from "../../delivery/endpoint.ts";
import type { WebhookResponse } from "../../delivery/sender.ts";
import { plainText } from "../message.ts";
import { type ChatService, memberOf, secondsIn } from "./service.ts";

/** The token was revoked (401, 404), or the bot was blocked or removed from the chat (403). */
const GONE = [401, 403, 404];

/** The answer 400 of a chat that was deleted, or that the bot cannot see any more. */
const NO_CHAT = /\bchat not found\b/;

/** Number of a supergroup. */
const SUPERGROUP = /^-\d{1,20}$/;

/** Telegram by the Bot API. @param origin Origin of the Bot API's server. */
export const telegramAt = (origin: string): ChatService<"telegram"> => ({
  // `text` has at most 4,096 characters.
  maxBytes: 4_096,
  textOf: plainText,
  request: ({ token, chatId }, message) => ({
    url: `${origin}/bot${token}/sendMessage`,
    headers: {},
    body: JSON.stringify({
      chat_id: chatId,
      // Without parse_mode, so that no character is special.
      text: plainText(message),
      link_preview_options: { is_disabled: true },
    }),
  }),
  verdictOn: (response) => {
    const verdict = verdictByStatus(response, GONE);
    const retryAfterMs =
      secondsIn(response.body, ["parameters", "retry_after"]) ?? verdict.retryAfterMs;
    const isGone = verdict.isGone || isWithoutChat(response);
    return { ...verdict, isGone, retryAfterMs };
  },
  // A group that becomes a supergroup gets another number (Bot API, "ResponseParameters").
  movedTo: (target, { status, body }) => {
    const chatId = String(memberOf(body, ["parameters", "migrate_to_chat_id"]));
    return status === 400 && SUPERGROUP.test(chatId) ? { ...target, chatId } : undefined;
  },
});

function isWithoutChat({ status, body }: WebhookResponse): boolean {
  const description = memberOf(body, ["description"]);
  return status === 400 && typeof description === "string" && NO_CHAT.test(description);
}
