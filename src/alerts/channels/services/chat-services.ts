import { discord } from "./discord.ts";
import { ntfy } from "./ntfy.ts";
import type { ChatService } from "./service.ts";
import { slack } from "./slack.ts";
import { telegram } from "./telegram.ts";

const services = { slack, discord, telegram, ntfy };

/** Kinds of channels that are sent HTTP requests; email is sent through the outbox instead. */
export type ChatKind = keyof typeof services;

/** The target of a chat, by kind. */
export type ChatTargets = {
  readonly [K in ChatKind]: (typeof services)[K] extends ChatService<infer Target> ? Target : never;
};

/** The chat services by kind. */
export const chatServices: { readonly [K in ChatKind]: ChatService<ChatTargets[K]> } = services;

/** Kinds of chats, in the order in which they are offered. */
export const CHAT_KINDS = Object.keys(services) as readonly ChatKind[];
