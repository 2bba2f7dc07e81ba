import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * The first of the ports below those that Linux gives to outgoing connections and to servers that
 * ask for any port (32,768 and more). Each worker of the tests has a thousand of them, so that
 * nothing takes a port before its test does.
 */
const FIRST = 20_000 + 1_000 * (Number(process.env.VITEST_POOL_ID ?? 0) % 12);

/** Finds a TCP port of the loopback address that is not in use, as a setting has it. */
export async function freePort(): Promise<string> {
  for (;;) {
    const port = randomInt(FIRST, FIRST + 1_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return String(port);
  }
}
