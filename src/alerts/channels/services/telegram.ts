import { verdictOfHttpStatus } from "../../delivery/endpoint.ts";
import type { WebhookResponse } from "../../delivery/sender.ts";
import { messagePlainText } from "../message.ts";
import { type ChatService, jsonMemberAt, readJsonSecondsAsMs } from "./service.ts";

/** A Telegram chat, and the bot that writes to it. */
interface TelegramTarget {
  readonly kind: "telegram";
  /** Token of the bot. */
  readonly token: string;
  /** Numeric id of a chat, or `@` and the username of a public chat. */
  readonly chatId: string;
}

/**
 * Token of a bot: the bot's id and 35 characters. The pattern allows for longer tokens in the
 * future.
 */
const TOKEN = /^\d{5,20}:[\w-]{30,100}$/;

/** Numeric id of a chat, negative for groups, or `@` and the username of a public chat. */
const CHAT = /^(-?\d{1,20}|@[A-Za-z]\w{3,31})$/;

/**
 * HTTP statuses after which the chat is treated as gone: the token was revoked (401, 404), or the
 * bot was blocked or removed from the chat (403).
 */
const GONE = [401, 403, 404];

/** Matches the 400 response for a chat that was deleted, or that the bot can no longer see. */
const NO_CHAT = /\bchat not found\b/;

/** Numeric id of a supergroup. */
const SUPERGROUP = /^-\d{1,20}$/;

/** Sends messages to Telegram through the Bot API. */
export const telegram: ChatService<TelegramTarget> = {
  name: "Telegram",
  form: {
    about:
      "Create a bot with @BotFather, which tells you its token; write to the bot, or add it to a group, and find the number of the chat with @userinfobot.",
    to: { label: "Chat", type: "text", example: "-1001234567890" },
    token: "Token of the bot",
  },
  parse({ to, token }) {
    if (!TOKEN.test(token)) return { field: "token", fault: "It is no token of a bot." };
    if (CHAT.test(to)) return { kind: "telegram", token, chatId: to };
    return { field: "to", fault: "It is neither the number of a chat nor @ and a name." };
  },
  hint: ({ chatId, token }) => `chat ${chatId} by bot ${token.slice(0, token.indexOf(":"))}`,
  identity: ({ chatId }) => chatId.toLowerCase(),
  chosenUrl: () => undefined,
  // Telegram limits `text` to 4,096 characters.
  maxBytes: 4_096,
  textOf: messagePlainText,
  request: ({ token, chatId }, message, { telegramUrl }) => ({
    url: `${telegramUrl}/bot${token}/sendMessage`,
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
};

function isWithoutChat({ status, body }: WebhookResponse): boolean {
  const description = jsonMemberAt(body, ["description"]);
  return status === 400 && typeof description === "string" && NO_CHAT.test(description);
}
