import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

/** A proxy in front of a database that can stop forwarding traffic. */
export interface BlackHole {
  /** Connection URL of the database through the proxy. */
  readonly url: string;
  /** Stops forwarding: connections are still accepted, but nothing is answered. */
  open(): void;
  /** Resumes forwarding, including the data that was held back, as after a network outage. */
  close(): void;
  /** Closes the proxy and all connections. */
  end(): void;
}

/** Starts a proxy in front of a server on a Unix socket. */
export async function startBlackHole(url: string): Promise<BlackHole> {
  const target = join(new URL(url).searchParams.get("host") ?? "", ".s.PGSQL.5432");
  const sockets = new Set<Socket>();
  let isOpen = false;
  const server = createServer((client) => {
    const upstream = connect(target);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk) => to.write(chunk));
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
      from.on("close", () => sockets.delete(from));
      if (isOpen) from.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const outside = new URL(url);
  outside.searchParams.delete("host");
  outside.hostname = "127.0.0.1";
  outside.port = String(port);
  return {
    url: outside.href,
    open() {
      isOpen = true;
      for (const socket of sockets) socket.pause();
    },
    close() {
      isOpen = false;
      for (const socket of sockets) socket.resume();
    },
    end() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
