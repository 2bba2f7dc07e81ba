import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

/** What the app asked of the host, oldest first. */
const asked = [];

/** Shows an app in a sandboxed frame, by the official bridge. Tools are called by the test. */
async function openApp({ html, context, capabilities }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = "app";
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
  const initialized = new Promise((resolve) => {
    bridge.oninitialized = () => resolve();
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await initialized;
  Object.assign(globalThis, { bridge, frame });
}

Object.assign(globalThis, { openApp, asked });
