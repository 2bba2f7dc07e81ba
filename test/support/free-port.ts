import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Ports below those that Linux gives to outgoing connections and to servers that ask for any port,
 * so that nothing takes a port before its test does.
 */
const [FIRST, END] = [20_000, 32_768];

/** Finds a TCP port of the loopback address that is not in use, as a setting has it. */
export async function freePort(): Promise<string> {
  for (;;) {
    const port = randomInt(FIRST, END);
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
