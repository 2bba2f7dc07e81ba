import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

/** Requests from the app to the host, oldest first. */
const asked = [];

/**
 * Shows an app through the official bridge, in a sandbox of another origin. The test answers its
 * tool calls.
 */
async function openApp({ html, sandbox, context, capabilities }) {
  const frame = document.createElement("iframe");
  frame.title = "sandbox";
  document.body.append(frame);
  const info = { name: "test-host", version: "1" };
  const bridge = new AppBridge(null, info, capabilities, { hostContext: context });
  const answer = (name, result) => async (params) => {
    asked.push([name, params]);
    return result(params);
  };
  bridge.oncalltool = answer("call", (params) => globalThis.callServer(params));
  bridge.onopenlink = answer("link", () => ({}));
  bridge.onupdatemodelcontext = answer("context", () => ({}));
  bridge.onrequestdisplaymode = answer("mode", ({ mode }) => ({ mode }));
  bridge.onsizechange = (size) => {
    asked.push(["size", size]);
    frame.style.height = `${size.height}px`;
  };
  bridge.onsandboxready = () => bridge.sendSandboxResourceReady({ html });
  const initialized = new Promise((resolve) => {
    bridge.oninitialized = () => resolve();
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = sandbox;
  await initialized;
  Object.assign(globalThis, { bridge, frame });
}

/**
 * Sends a message through the bridge and waits until the app has processed it. Messages keep their
 * order, so the answer to a later ping proves that the app has processed the message.
 */
async function send(method, params) {
  await globalThis.bridge[method](params);
  const id = `after-${method}`;
  const { contentWindow } = globalThis.frame;
  await new Promise((resolve) => {
    const listen = ({ source, data }) => {
      if (source !== contentWindow || data.id !== id) return;
      window.removeEventListener("message", listen);
      resolve();
    };
    window.addEventListener("message", listen);
    contentWindow.postMessage({ jsonrpc: "2.0", id, method: "ping" }, "*");
  });
}

Object.assign(globalThis, { openApp, send, asked });
