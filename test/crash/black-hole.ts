import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

/** A way to a database that can become a black hole. */
export interface BlackHole {
  /** Address of the database through it. */
  readonly url: string;
  /** From now on connections are accepted and nothing is answered. */
  open(): void;
  /** Everything that was swallowed goes on its way, as after a cut in a network. */
  close(): void;
  /** Ends all connections. */
  end(): void;
}

/** Starts a proxy in front of a server on a Unix socket, which can stop answering. */
export async function blackHole(url: string): Promise<BlackHole> {
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
