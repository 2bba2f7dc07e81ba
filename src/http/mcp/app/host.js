/** The host that shows this document: JSON-RPC 2.0 by `postMessage` (MCP Apps 2026-01-26). */

/** Revision of MCP Apps. */
const REVISION = "2026-01-26";

/** Codes of JSON-RPC 2.0. */
const METHOD_NOT_FOUND = -32_601;

/** Whether a value from outside is a JSON object. */
export const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A failure that the host reports in place of a result. */
export class HostError extends Error {}

export class Host {
  #window;
  #handlers;
  #pending = new Map();
  #lastId = 0;
  #isOver = false;
  /** What the host can do, if it says so. */
  #capabilities = undefined;

  /** @param handlers Functions by method, for what the host sends. Each gets the parameters. */
  constructor(handlers) {
    this.#window = window.parent;
    this.#handlers = handlers;
    window.addEventListener("message", (event) => this.#receive(event));
  }

  /** Shakes hands. @returns The context of the host, empty if it has none. @throws {HostError} */
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

  /** Whether the host can do something. Of hosts that declare nothing, as some do, anything may be
   *  tried: they refuse what they cannot do. */
  can = (capability) =>
    this.#capabilities === undefined || isObject(this.#capabilities[capability]);

  /** Calls a tool of the server. @throws {HostError} If the host refuses. */
  callTool = (name, given) => this.#request("tools/call", { name, arguments: given });

  /** Asks the host to open a page. @throws {HostError} */
  openLink = (url) => this.#request("ui/open-link", { url });

  /** Asks for more or less room. @throws {HostError} */
  requestDisplayMode = (mode) => this.#request("ui/request-display-mode", { mode });

  /** Tells the model what a person did here. @throws {HostError} */
  tellModel = (text) =>
    this.#request("ui/update-model-context", { content: [{ type: "text", text }] });

  /** Sends a notification. */
  notify(method, params = {}) {
    this.#send({ method, params });
  }

  /** Ends all: nothing is sent or received any more. */
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

  /** The origin of the host is not known beforehand, and nothing secret is sent: what a person typed
   *  here goes to the window that shows this document and to no other. */
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
