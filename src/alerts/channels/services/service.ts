import type { Verdict } from "../../delivery/endpoint.ts";
import type { SentRequest, WebhookResponse } from "../../delivery/sender.ts";
import type { ChannelTargets, ChatKind } from "../channel.ts";
import type { ChannelMessage } from "../message.ts";

/** How a message becomes a request of a chat service, and what its answer means. */
export interface ChatService<K extends ChatKind> {
  /** Maximum size of an escaped message, in bytes of UTF-8; the services count characters, which
   *  are fewer. */
  readonly maxBytes: number;
  /** The text as it is sent, which `maxBytes` bounds. */
  readonly textOf: (message: ChannelMessage) => string;
  readonly request: (target: ChannelTargets[K], message: ChannelMessage) => SentRequest;
  readonly verdictOn: (response: WebhookResponse) => Verdict;
  /** The target that an answer names in place of one that was moved; `undefined` if it names none.
   *  Absent for services whose targets do not move. */
  readonly movedTo?: (
    target: ChannelTargets[K],
    response: WebhookResponse,
  ) => ChannelTargets[K] | undefined;
}

const SECOND_MS = 1_000;

/** A number of seconds in a JSON answer, in milliseconds; `undefined` when there is none. */
export function secondsIn(body: string, path: readonly string[]): number | undefined {
  const found = memberOf(body, path);
  return typeof found === "number" && found >= 0 ? Math.ceil(found * SECOND_MS) : undefined;
}

/** A member of a JSON answer; `undefined` when there is none, or the answer is not JSON. */
export const memberOf = (body: string, path: readonly string[]): unknown =>
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
