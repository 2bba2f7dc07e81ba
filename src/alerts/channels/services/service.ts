import type { EndpointVerdict } from "../../delivery/endpoint.ts";
import type { WebhookRequest, WebhookResponse } from "../../delivery/sender.ts";
import type { ChannelTargets, ChatKind } from "../channel.ts";
import type { ChannelMessage } from "../message.ts";

/** Converts messages to requests to a chat service, and interprets the responses. */
export interface ChatService<K extends ChatKind> {
  /**
   * Maximum size of an escaped message, in bytes of UTF-8. The services limit the number of
   * characters, and a text never has more characters than bytes.
   */
  readonly maxBytes: number;
  /** The escaped text of a message as it is sent; `maxBytes` limits its size. */
  readonly textOf: (message: ChannelMessage) => string;
  readonly request: (target: ChannelTargets[K], message: ChannelMessage) => WebhookRequest;
  readonly verdictOn: (response: WebhookResponse) => EndpointVerdict;
  /**
   * The new target that the service reports when a target has moved; `undefined` if the response
   * contains no new target. Absent for services whose targets do not move.
   */
  readonly movedTo?: (
    target: ChannelTargets[K],
    response: WebhookResponse,
  ) => ChannelTargets[K] | undefined;
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
    parsed(body),
  );

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
