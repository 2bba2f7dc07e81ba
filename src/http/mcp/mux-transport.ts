import {
  type AuthInfo,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type MessageClassification,
  type MessageExtraInfo,
  PerRequestHTTPServerTransport,
  type ProtocolEra,
} from "@modelcontextprotocol/server";
import { MODERN } from "./announced.ts";

/** Older messages have none: the SDK takes what is not classified for them. */
const classifications: Readonly<Record<ProtocolEra, MessageClassification | undefined>> = {
  modern: { era: "modern", revision: MODERN },
  legacy: undefined,
};

/** Who waits for an answer, and by which id it is known to them. */
interface Waiting extends Pick<PromiseWithResolvers<JSONRPCResponse>, "resolve" | "reject"> {
  readonly id: JSONRPCRequest["id"];
}

/**
 * Lets one server answer requests of many callers at once. Each request gets an id of its own, so
 * that equal ids of two callers never meet.
 *
 * The SDK binds a server to the newest revision only over a transport of its class for one exchange;
 * of that class nothing else is used.
 */
export class MuxTransport extends PerRequestHTTPServerTransport {
  readonly #extra: Pick<MessageExtraInfo, "classification">;
  readonly #waiting = new Map<JSONRPCRequest["id"], Waiting>();
  #lastId = 0;

  constructor(era: ProtocolEra) {
    const classification = classifications[era];
    super({ classification: classification ?? { era } });
    this.#extra = classification === undefined ? {} : { classification };
  }

  /** Requests that are being answered. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Has a request answered.
   *
   * @param message A well-formed request: another one would never be answered.
   * @returns `undefined` when the server refused it before any handler saw it. Whoever else answers
   *   it then says why.
   */
  dispatch(message: JSONRPCRequest, authInfo: AuthInfo): Promise<JSONRPCResponse> | undefined {
    if (this.onmessage === undefined) return undefined;
    const id = ++this.#lastId;
    const { promise, ...settle } = Promise.withResolvers<JSONRPCResponse>();
    this.#waiting.set(id, { ...settle, id: message.id });
    this.onmessage({ ...message, id }, { ...this.#extra, authInfo });
    // Handlers run later; what has been answered by now was refused.
    return this.#waiting.has(id) ? promise : undefined;
  }

  /** Answers the one who asked. What else a server says, such as a notification, nobody hears. */
  override async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message || message.id === undefined) return;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    waiting?.resolve({ ...message, id: waiting.id });
  }

  /** Refuses everyone who still waits: a closed server answers nobody. */
  override async close(): Promise<void> {
    for (const { reject } of this.#waiting.values()) reject(new Error("The MCP server closed."));
    this.#waiting.clear();
    delete this.onmessage;
    await super.close();
  }
}
