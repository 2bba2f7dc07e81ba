import { verdictByStatus } from "../../delivery/endpoint.ts";
import { plainText } from "../message.ts";
import { type ChatService, secondsIn } from "./service.ts";

/** The token was revoked (401, 404), or the bot was blocked or removed from the chat (403). */
const GONE = [401, 403, 404];

/** Telegram by the Bot API. @param origin Of the server of the Bot API. */
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
    return { ...verdict, retryAfterMs };
  },
});
