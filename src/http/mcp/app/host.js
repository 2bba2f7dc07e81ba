/**
 * Connection to the host that shows this document: JSON-RPC 2.0 over `postMessage` (MCP Apps
 * 2026-01-26).
 */

/** Revision of the MCP Apps specification. */
const REVISION = "2026-01-26";

/** JSON-RPC 2.0 error code for an unknown method. */
const METHOD_NOT_FOUND = -32_601;

/** Whether a value from outside is a JSON object. */
export const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An error that the host returned instead of a result, or the end of the connection. */
export class HostError extends Error {}

export class Host {
  #window;
  #handlers;
  #pending = new Map();
  #lastId = 0;
  #isOver = false;
  /** Capabilities that the host declared; `undefined` if it declared none. */
  #capabilities = undefined;

  /**
   * @param handlers Functions for the host's requests and notifications, by method. Each is called
   * with the parameters.
   */
  constructor(handlers) {
    this.#window = window.parent;
    this.#handlers = handlers;
    window.addEventListener("message", (event) => this.#receive(event));
  }

  /**
   * Performs the initialization handshake.
   *
   * @returns The context of the host; empty if the host sends none.
   * @throws {HostError}
   */
  async connect(appInfo) {
    const answer = await this.#request("ui/initialize", {
      protocolVersion: REVISION,
      appInfo,
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    if (isObject(answer.hostCapabilities)) this.#capabilities = answer.hostCapabilities;
    this.notify("ui/notifications/initialized");
    return isObject(answer.hostContext) ? answer.hostContext : {};
  }

  /**
   * Whether the host has a capability. If the host declared no capabilities, as some do, every
   * capability is assumed; such a host rejects what it does not support.
   */
  can = (capability) =>
    this.#capabilities === undefined || isObject(this.#capabilities[capability]);

  /** Calls a tool of the server. @throws {HostError} If the host refuses. */
  callTool = (name, given) => this.#request("tools/call", { name, arguments: given });

  /** Asks the host to open a page. @throws {HostError} */
  openLink = (url) => this.#request("ui/open-link", { url });

  /** Asks the host to change the display mode. @throws {HostError} */
  requestDisplayMode = (mode) => this.#request("ui/request-display-mode", { mode });

  /** Sends a notification. */
  notify(method, params = {}) {
    this.#send({ method, params });
  }

  /**
   * Ends the connection: pending requests are rejected, and no more messages are sent or received.
   */
  end() {
    this.#isOver = true;
    for (const { reject } of this.#pending.values()) reject(new HostError("It was closed."));
    this.#pending.clear();
  }

  #request(method, params) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  /**
   * Sends a message. The target origin is `*`, because the origin of the host is unknown. This
   * discloses no secret: only the window that embeds this document receives the message.
   */
  #send(message) {
    if (!this.#isOver) this.#window.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  #receive({ source, data }) {
    if (source !== this.#window || this.#isOver) return;
    if (!isObject(data) || data.jsonrpc !== "2.0") return;
    if (typeof data.method === "string") this.#answer(data);
    else this.#settle(data);
  }

  #settle({ id, result, error }) {
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (isObject(result)) waiting?.resolve(result);
    else waiting?.reject(new HostError(String(error?.message ?? "It gave no reason.")));
  }

  #answer({ id, method, params }) {
    const known = Object.hasOwn(this.#handlers, method);
    if (known) this.#handlers[method](isObject(params) ? params : {});
    if (id === undefined) return;
    if (known || method === "ping") this.#send({ id, result: {} });
    else this.#send({ id, error: { code: METHOD_NOT_FOUND, message: `Not known: ${method}` } });
    if (method === "ui/resource-teardown") this.end();
  }
}
