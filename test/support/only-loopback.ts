/** Module for `node --import`. Every connection outside this machine fails before it is tried. */
export const ONLY_LOOPBACK = `data:text/javascript,${encodeURIComponent(`
  import net from "node:net";
  const { connect } = net.Socket.prototype;
  net.Socket.prototype.connect = function (...args) {
    const [first] = Array.isArray(args[0]) ? args[0] : args;
    const host = typeof first === "object" ? (first.host ?? "127.0.0.1") : args[1];
    if (host !== "127.0.0.1") throw new Error("the test may not call " + host);
    return connect.apply(this, args);
  };
`)}`;
