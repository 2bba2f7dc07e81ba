import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { ChatKind } from "../../src/alerts/channels/services/chat-services.ts";
import type { ChannelTarget, ChannelTargetInput } from "../../src/alerts/channels/targets.ts";

/**
 * Reaction of a chat service to a message. A number is an HTTP error status. `limited`: 429 in the
 * service's own form. `gone`: the target does not exist. `moved`: a Telegram group has become a
 * supergroup. `redirect`: 307 to `location`. All other reactions are those of `ReceiverOptions`.
 */
export type ChatBehavior =
  | "takes"
  | "limited"
  | "gone"
  | "moved"
  | "redirect"
  | "black-hole"
  | "reset"
  | "drip"
  | "endless"
  | number;

/** A message that the chat service accepted. */
interface TakenMessage {
  /** Text of the message as its readers see it. */
  readonly text: string;
  /** Body of the request. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Options of a chat service. */
interface ChatOptions {
  readonly behavior?: ChatBehavior;
  /** Reactions to successive requests, used instead of `behavior`. */
  readonly inTurn?: readonly ChatBehavior[];
  /** Target of redirects. */
  readonly location?: string;
  /** Delay of the answer, in milliseconds. Default: 0. */
  readonly thinksMs?: number;
  /** Called for each request before the answer. */
  readonly onAsked?: () => Promise<void>;
  readonly onTaken?: (message: TakenMessage) => void;
}

/** A local server that simulates a chat service. */
export interface ChatServer {
  readonly kind: ChatKind;
  readonly origin: string;
  /** Channel target that points to this server. */
  readonly target: ChannelTarget;
  /** The same channel target, as a person enters it. */
  readonly typed: ChannelTargetInput;
  /** The messages that the server accepted. */
  readonly taken: readonly TakenMessage[];
  /** Total number of requests. */
  readonly requests: number;
  behavior: ChatBehavior;
  /** Reactions to successive requests, used instead of `behavior`. */
  inTurn: readonly ChatBehavior[] | undefined;
  /** Resolves once at least this many messages are accepted. */
  took(count: number): Promise<readonly TakenMessage[]>;
  close(): Promise<void>;
}

/** An HTTP answer of a chat service. */
interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | object;
}

/** Request and response format of a chat service, from its documentation. */
interface ChatFormat {
  readonly path: string;
  typed(origin: string): Pick<ChannelTargetInput, "to" | "token">;
  target(origin: string): ChannelTarget;
  /** Reads a request. @returns The message as its readers see it, or an error answer. */
  read(body: Readonly<Record<string, unknown>>, req: IncomingMessage): string | Answer;
  readonly taken: Answer;
  readonly limited: Answer;
  readonly gone: Answer;
}

/** Value of Retry-After in the `limited` answer, in seconds. */
export const LIMITED_SECONDS = 42;

/** Chat id of a Telegram group, and of the supergroup that it becomes. */
const GROUP = "-1001234567890";
export const SUPERGROUP = "-1009876543210";

const TELEGRAM_TOKEN = "123456:AAF-simulated-token-of-a-bot_0123456789";
const NTFY_TOKEN = "tk_simulated0123456789";

const formats: Readonly<Record<ChatKind, ChatFormat>> = {
  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
  slack: {
    path: "/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    typed: (origin) => ({ to: origin + formats.slack.path, token: "" }),
    target: (origin) => ({ kind: "slack", url: origin + formats.slack.path }),
    read({ text: said, mrkdwn }) {
      if (typeof said !== "string" || said === "") return { status: 400, body: "no_text" };
      if (said.length > 40_000) return { status: 400, body: "msg_too_long" };
      if (/<[@#!]/.test(said) || mrkdwn !== false) return { status: 400, body: "mentions" };
      return said.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
    },
    taken: { status: 200, headers: { "content-type": "text/html" }, body: "ok" },
    limited: {
      ...{ status: 429, headers: { "retry-after": String(LIMITED_SECONDS) } },
      body: "rate_limited",
    },
    gone: { status: 404, body: "no_service" },
  },
  // https://docs.discord.com/developers/resources/webhook#execute-webhook
  discord: {
    path: "/api/webhooks/123456789012345678/simulated-token_of-a-webhook",
    typed: (origin) => ({ to: origin + formats.discord.path, token: "" }),
    target: (origin) => ({ kind: "discord", url: origin + formats.discord.path }),
    read({ content, allowed_mentions: mentions }) {
      if (typeof content !== "string" || content === "") {
        return { status: 400, body: { message: "Cannot send an empty message", code: 50006 } };
      }
      if (content.length > 2_000) {
        return { status: 400, body: { message: "Invalid Form Body", code: 50035 } };
      }
      if (JSON.stringify(mentions) !== '{"parse":[]}') return { status: 400, body: "mentions" };
      return content.replace(/\\([\\*_~`|>#[\]()-])/g, "$1");
    },
    taken: { status: 204, body: "" },
    limited: {
      status: 429,
      headers: { "retry-after": String(LIMITED_SECONDS), "x-ratelimit-scope": "shared" },
      body: {
        message: "You are being rate limited.",
        retry_after: LIMITED_SECONDS - 0.4,
        global: false,
      },
    },
    gone: { status: 404, body: { message: "Unknown Webhook", code: 10015 } },
  },
  // https://core.telegram.org/bots/api#sendmessage
  telegram: {
    path: `/bot${TELEGRAM_TOKEN}/sendMessage`,
    typed: () => ({ to: GROUP, token: TELEGRAM_TOKEN }),
    target: () => ({ kind: "telegram", token: TELEGRAM_TOKEN, chatId: GROUP }),
    read({ chat_id: chat, text: said, parse_mode: mode }) {
      const bad = (description: string) => {
        const body = { ok: false, error_code: 400, description: `Bad Request: ${description}` };
        return { status: 400, body };
      };
      if (chat !== GROUP && chat !== SUPERGROUP) return bad("chat not found");
      if (typeof said !== "string" || said === "") return bad("message text is empty");
      if (said.length > 4_096) return bad("message is too long");
      return mode === undefined ? said : bad("can't parse entities");
    },
    taken: {
      status: 200,
      body: { ok: true, result: { message_id: 1, date: 0, chat: { id: Number(GROUP) } } },
    },
    limited: {
      status: 429,
      body: {
        ...{ ok: false, error_code: 429 },
        description: `Too Many Requests: retry after ${LIMITED_SECONDS}`,
        parameters: { retry_after: LIMITED_SECONDS },
      },
    },
    gone: {
      status: 403,
      body: { ok: false, error_code: 403, description: "Forbidden: bot was kicked from the group" },
    },
  },
  // https://docs.ntfy.sh/publish/#publish-as-json
  ntfy: {
    path: "/",
    typed: (origin) => ({ to: `${origin}/alerts-simulated`, token: NTFY_TOKEN }),
    target: (origin) => ({ kind: "ntfy", url: `${origin}/alerts-simulated`, token: NTFY_TOKEN }),
    read({ topic, title, message, click }, { headers }) {
      const refused = (http: number, code: number, error: string) => ({
        ...{ status: http, body: { code, http, error } },
      });
      if (headers.authorization !== `Bearer ${NTFY_TOKEN}`)
        return refused(401, 40101, "unauthorized");
      if (topic !== "alerts-simulated") return refused(403, 40301, "forbidden");
      if (Buffer.byteLength(String(message)) > 4_096) return refused(413, 41301, "too large");
      return `${title}\n${message}\n${click}`;
    },
    taken: {
      status: 200,
      body: { id: "sPs71M8A2T", time: 0, event: "message", topic: "alerts-simulated" },
    },
    limited: {
      status: 429,
      headers: { "retry-after": String(LIMITED_SECONDS) },
      body: { code: 42901, http: 429, error: "limit reached: too many requests" },
    },
    // ntfy topics are never gone; the closest error is that the server forbids the topic.
    gone: { status: 403, body: { code: 40301, http: 403, error: "forbidden" } },
  },
};

/** Telegram's answer for a group that became a supergroup. */
const MOVED: Answer = {
  status: 400,
  body: {
    ...{ ok: false, error_code: 400 },
    description: "Bad Request: group chat was upgraded to a supergroup chat",
    parameters: { migrate_to_chat_id: Number(SUPERGROUP) },
  },
};

/** Starts a chat service on a free port. */
export async function startChat(kind: ChatKind, options: ChatOptions = {}): Promise<ChatServer> {
  const format = formats[kind];
  const { thinksMs = 0, location = "/", onAsked, onTaken } = options;
  const events = new EventEmitter().setMaxListeners(0);
  const taken: TakenMessage[] = [];
  let requests = 0;
  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const body = JSON.parse(await text(req)) as Record<string, unknown>;
    const { inTurn } = server;
    const behavior = inTurn?.[requests % inTurn.length] ?? server.behavior;
    requests += 1;
    if (thinksMs > 0) await delay(thinksMs);
    await onAsked?.();
    if (req.method !== "POST" || req.url !== format.path) return answer(res, format.gone);
    if (behavior !== "takes") return misbehave(res, behavior, { format, location });
    const read = format.read(body, req);
    if (typeof read !== "string") return answer(res, read);
    const message = { text: read, body };
    taken.push(message);
    onTaken?.(message);
    answer(res, format.taken);
    events.emit("taken");
  };
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    handle(req, res).catch(() => res.destroy());
  };
  const http = createServer(listener);
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server = {
    ...{ kind, origin, target: format.target(origin), taken },
    typed: { kind, ...format.typed(origin) },
    behavior: options.behavior ?? ("takes" as ChatBehavior),
    inTurn: options.inTurn,
    get requests() {
      return requests;
    },
    async took(count: number) {
      while (taken.length < count) await once(events, "taken");
      return taken;
    },
    async close() {
      http.close();
      http.closeAllConnections();
      if (http.listening) await once(http, "close");
    },
  };
  return server;
}

function answer(res: ServerResponse, { status, headers = {}, body }: Answer): void {
  const isText = typeof body === "string";
  res.writeHead(status, { "content-type": isText ? "text/plain" : "application/json", ...headers });
  res.end(isText ? body : JSON.stringify(body));
}

interface Misbehavior {
  readonly format: ChatFormat;
  readonly location: string;
}

function misbehave(
  res: ServerResponse,
  behavior: Exclude<ChatBehavior, "takes">,
  { format, location }: Misbehavior,
): void {
  switch (behavior) {
    case "limited":
    case "gone":
      answer(res, format[behavior]);
      return;
    case "moved":
      answer(res, MOVED);
      return;
    case "redirect":
      answer(res, { status: 307, headers: { location }, body: "" });
      return;
    case "black-hole":
      return;
    case "reset":
      res.socket?.resetAndDestroy();
      return;
    case "drip":
      res.socket?.write("HTTP/1.1 200 OK\r\nx-slow: ");
      return;
    case "endless":
      res.writeHead(500);
      res.write("x".repeat(64 * 1024));
      return;
    default:
      answer(res, { status: behavior, body: "trouble" });
  }
}
