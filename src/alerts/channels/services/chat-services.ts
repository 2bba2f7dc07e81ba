import type { ChatKind } from "../channel.ts";
import { discord } from "./discord.ts";
import { ntfy } from "./ntfy.ts";
import type { ChatService } from "./service.ts";
import { slack } from "./slack.ts";
import { telegramAt } from "./telegram.ts";

/** The chat services by kind. */
export type ChatServices = { readonly [K in ChatKind]: ChatService<K> };

/** @param telegramUrl Origin of the server of the Telegram Bot API. */
export const createChatServices = (telegramUrl: string): ChatServices => ({
  slack,
  discord,
  telegram: telegramAt(telegramUrl),
  ntfy,
});
