import type { ChatKind } from "../channel.ts";
import { discord } from "./discord.ts";
import { ntfy } from "./ntfy.ts";
import type { ChatService } from "./service.ts";
import { slack } from "./slack.ts";
import { createTelegramService } from "./telegram.ts";

/** The chat services by kind. */
export type ChatServices = { readonly [K in ChatKind]: ChatService<K> };

/** Creates the chat services. @param telegramUrl Origin of the Telegram Bot API server. */
export const createChatServices = (telegramUrl: string): ChatServices => ({
  slack,
  discord,
  telegram: createTelegramService(telegramUrl),
  ntfy,
});
