import {
  type AuthInfo,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type MessageClassification,
  type MessageExtraInfo,
  PerRequestHTTPServerTransport,
  type ProtocolEra,
  type Server,
} from "@modelcontextprotocol/server";
import { LATEST_PROTOCOL_REVISION } from "./protocol.ts";

/**
 * Classification that the SDK gets with each message, by protocol era. Messages of earlier
 * revisions have none, because the SDK treats unclassified messages as legacy.
 */
const classifications: Readonly<Record<ProtocolEra, MessageClassification | undefined>> = {
  modern: { era: "modern", revision: LATEST_PROTOCOL_REVISION },
  legacy: undefined,
};

/** A pending request with the id that the caller gave it. */
interface PendingRequest extends Pick<PromiseWithResolvers<JSONRPCResponse>, "resolve" | "reject"> {
  readonly id: JSONRPCRequest["id"];
}

/**
 * Multiplexes concurrent requests of many callers to one server. Each request gets a unique id, so
 * equal ids of two callers do not collide.
 *
 * It extends the SDK's per-request transport because the SDK serves the latest revision only over
 * that transport.
 */
export class MuxTransport extends PerRequestHTTPServerTransport {
  readonly #extra: Pick<MessageExtraInfo, "classification">;
  readonly #server: Server;
  readonly #pending = new Map<JSONRPCRequest["id"], PendingRequest>();
  #lastId = 0;

  /** @param server The server that is going to be connected to the transport. */
  constructor(era: ProtocolEra, server: Server) {
    const classification = classifications[era];
    super({ classification: classification ?? { era } });
    this.#extra = classification === undefined ? {} : { classification };
    this.#server = server;
  }

  /** Number of requests in flight. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /**
   * Dispatches a request to the server.
   *
   * @param message A well-formed request; a malformed one would never be answered.
   * @returns `undefined` if the server rejected the request before a handler ran; the SDK's handler
   * must then answer it.
   */
  dispatch(message: JSONRPCRequest, authInfo: AuthInfo): Promise<JSONRPCResponse> | undefined {
    if (this.onmessage === undefined) return undefined;
    const id = ++this.#lastId;
    const { promise, ...settle } = Promise.withResolvers<JSONRPCResponse>();
    this.#pending.set(id, { ...settle, id: message.id });
    // `onmessage` first lets zod check whether the message is a response. Each check that fails leaves
    // the whole message to the next full garbage collection, so that a call takes a third longer
    // (measured with zod 4.6.7).
    // biome-ignore lint/complexity/useLiteralKeys: TypeScript allows a private method only like this.
    this.#server["_onrequest"]({ ...message, id }, { ...this.#extra, authInfo });
    // Handlers run asynchronously, so a request that is no longer pending here was rejected before
    // any handler ran.
    return this.#pending.has(id) ? promise : undefined;
  }

  /**
   * Resolves the pending request to which a response belongs. Notifications and requests from the
   * server are discarded.
   */
  override async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message || message.id === undefined) return;
    const waiting = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    waiting?.resolve({ ...message, id: waiting.id });
  }

  /** Rejects all pending requests, because a closed server answers none. */
  override async close(): Promise<void> {
    for (const { reject } of this.#pending.values()) reject(new Error("The MCP server closed."));
    this.#pending.clear();
    delete this.onmessage;
    await super.close();
  }
}
