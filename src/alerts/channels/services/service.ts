import type { Verdict } from "../../delivery/endpoint.ts";
import type { SentRequest, WebhookResponse } from "../../delivery/sender.ts";
import type { ChannelTargets, ChatKind } from "../channel.ts";
import type { ChannelMessage } from "../message.ts";

/** How a message becomes a request of a chat service, and what its answer means. */
export interface ChatService<K extends ChatKind> {
  /** Most bytes of a message in UTF-8, escaped; the services count characters, which are fewer. */
  readonly maxBytes: number;
  /** The text as it is sent, which `maxBytes` bounds. */
  readonly textOf: (message: ChannelMessage) => string;
  readonly request: (target: ChannelTargets[K], message: ChannelMessage) => SentRequest;
  readonly verdictOn: (response: WebhookResponse) => Verdict;
}

const SECOND_MS = 1_000;

/** A number of seconds in a JSON answer, in milliseconds; `undefined` when there is none. */
export function secondsIn(body: string, path: readonly string[]): number | undefined {
  const found = path.reduce<unknown>(
    (value, member) => (value as Record<string, unknown> | null | undefined)?.[member],
    parsed(body),
  );
  return typeof found === "number" && found >= 0 ? Math.ceil(found * SECOND_MS) : undefined;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
