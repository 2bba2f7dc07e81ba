import { parseJson } from "../../../lib/json.ts";
import type { UrlPolicy } from "../../../outbound/url-policy.ts";
import type { EndpointVerdict } from "../../delivery/endpoint.ts";
import type { WebhookRequest, WebhookResponse } from "../../delivery/sender.ts";
import type { ChannelMessage } from "../message.ts";

/** The target of a channel, as a person types it. */
export interface EnteredTarget {
  /** The email address, webhook URL, topic URL or, for Telegram, the chat. */
  readonly to: string;
  /** The Telegram bot's token, or the access token of an ntfy topic; empty for none. */
  readonly token: string;
}

/** What is wrong with a target that a person typed, in words for that person. */
export interface TargetFault {
  readonly field: keyof EnteredTarget;
  readonly fault: string;
}

/** How targets of one kind of channel are entered, shown, counted and told apart. */
export interface TargetKind<Target> {
  /** Name of the kind on pages. */
  readonly name: string;
  readonly form: {
    /** Text that says where to find the required values. */
    readonly about: string;
    readonly to: {
      readonly label: string;
      /** Type of the input element. */
      readonly type: "email" | "url" | "text";
      readonly example: string;
    };
    /** Label of the token; absent if this kind of channel needs no token. */
    readonly token?: string;
  };
  /**
   * Validates a target that a person typed; returns the normalized target, or what is wrong with
   * it. The IP addresses of its host are checked later, at every connection.
   */
  readonly parse: (entered: EnteredTarget, policy: UrlPolicy) => Target | TargetFault;
  /** The part of a target that is not secret, by which the person recognizes it. */
  readonly hint: (target: Target) => string;
  /**
   * What tells targets of this kind apart, in one spelling: a webhook can have several hosts and
   * path versions, and a chat is the same for every bot.
   */
  readonly identity: (target: Target) => string;
  /**
   * The URL whose host the person chose, so that requests to that host are limited; `undefined` if
   * only hosts of the service itself are accepted.
   */
  readonly chosenUrl: (target: Target) => string | undefined;
}

/** What the operator sets for the chat services. */
export interface ChatSettings {
  /** Origin of the Telegram Bot API server. */
  readonly telegramUrl: string;
}

/** Converts messages to requests to a chat service, and interprets the responses. */
export interface ChatService<Target> extends TargetKind<Target> {
  /**
   * Maximum size of an escaped message, in bytes of UTF-8. The services limit the number of
   * characters, and a text never has more characters than bytes.
   */
  readonly maxBytes: number;
  /** The escaped text of a message as it is sent; `maxBytes` limits its size. */
  readonly textOf: (message: ChannelMessage) => string;
  readonly request: (
    target: Target,
    message: ChannelMessage,
    settings: ChatSettings,
  ) => WebhookRequest;
  readonly verdictOn: (response: WebhookResponse) => EndpointVerdict;
  /**
   * The new target that the service reports when a target has moved; `undefined` if the response
   * contains no new target. Absent for services whose targets do not move.
   */
  readonly movedTo?: (target: Target, response: WebhookResponse) => Target | undefined;
}

const SECOND_MS = 1_000;

/**
 * Reads a number of seconds from a JSON response and converts it to milliseconds; `undefined` when
 * the response contains no such number.
 */
export function readJsonSecondsAsMs(body: string, path: readonly string[]): number | undefined {
  const found = jsonMemberAt(body, path);
  return typeof found === "number" && found >= 0 ? Math.ceil(found * SECOND_MS) : undefined;
}

/**
 * Reads a member of a JSON response; `undefined` when the member is missing or the response is not
 * JSON.
 */
export const jsonMemberAt = (body: string, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, member) => (value as Record<string, unknown> | null | undefined)?.[member],
    parseJson(body),
  );
