import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A connection to a database that a test can disturb. */
export interface Proxy {
  /** DATABASE_URL that connects through the proxy. */
  readonly url: string;
  /** Stops responding on all connections, existing and new. */
  swallow(): void;
  /** Makes new connections work again. The connections from the outage stay silent. */
  heal(): void;
  /**
   * Holds back what clients send. @returns A function that forwards the held data, even if the
   * client has disconnected, and waits for the responses.
   */
  hold(): () => Promise<void>;
  /**
   * Cuts the next connection that receives a response, before the response is delivered. @returns
   * Resolves when the connection was cut.
   */
  cutNextAnswer(): Promise<void>;
}

/** Starts a proxy between clients and a server on a Unix socket until the end of the test. */
export async function startProxy(url: string): Promise<Proxy> {
  const target = join(new URL(url).searchParams.get("host") ?? "", ".s.PGSQL.5432");
  const silent = new WeakSet<Socket>();
  const sockets = new Set<Socket>();
  let isSwallowing = false;
  let held: [Socket, Buffer][] | undefined;
  let onAnswer: (() => void) | undefined;
  const server = createServer((client) => {
    const upstream = connect(target);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      if (isSwallowing) silent.add(socket);
      socket.on("error", () => undefined);
    }
    const pass = (to: Socket, chunk: Buffer) => silent.has(to) || to.write(chunk);
    client.on("data", (chunk) => held?.push([upstream, chunk]) ?? pass(upstream, chunk));
    client.on("close", () => held ?? upstream.destroy());
    upstream.on("data", (chunk) => {
      if (onAnswer === undefined) return pass(client, chunk);
      client.destroy();
      onAnswer();
      onAnswer = undefined;
    });
    upstream.on("close", () => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: outside(url, (server.address() as AddressInfo).port),
    swallow() {
      isSwallowing = true;
      for (const socket of sockets) silent.add(socket);
    },
    heal() {
      isSwallowing = false;
    },
    hold() {
      const late: [Socket, Buffer][] = [];
      held = late;
      return async () => {
        held = undefined;
        const answers = late.map(([upstream]) =>
          Promise.race([once(upstream, "data"), once(upstream, "close")]),
        );
        for (const [upstream, chunk] of late) upstream.write(chunk);
        await Promise.all(answers);
      };
    },
    cutNextAnswer: () =>
      new Promise((resolve) => {
        onAnswer = resolve;
      }),
  };
}

function outside(url: string, port: number): string {
  const address = new URL(url);
  address.searchParams.delete("host");
  address.hostname = "127.0.0.1";
  address.port = String(port);
  return address.href;
}
