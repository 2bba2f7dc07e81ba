// The sandbox proxy that a web host puts around an app, on another origin (MCP Apps 2026-01-26,
// section Sandbox proxy). The app inherits the content security policy of this page.

const READY = "ui/notifications/sandbox-proxy-ready";
const RESOURCE = "ui/notifications/sandbox-resource-ready";

const inner = document.createElement("iframe");
inner.title = "app";
inner.setAttribute("sandbox", "allow-scripts allow-same-origin");
document.body.append(inner);

window.addEventListener("message", ({ source, data }) => {
  if (source === inner.contentWindow) {
    window.parent.postMessage(data, "*");
  } else if (data?.method === RESOURCE) {
    const { contentDocument } = inner;
    contentDocument.open();
    contentDocument.write(data.params.html);
    contentDocument.close();
  } else if (source === window.parent) {
    inner.contentWindow.postMessage(data, "*");
  }
});

window.parent.postMessage({ jsonrpc: "2.0", method: READY, params: {} }, "*");
