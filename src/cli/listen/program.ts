import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { isSecret, type PublicKeyJwk } from "../../alerts/signatures.ts";
import { WebhookKeySet } from "../../alerts/webhook-keys.ts";
import { UsageError } from "../arguments.ts";
import { HELP, type ListenCall, readListenCall } from "./call.ts";
import { createReceiver, type Receiver } from "./receiver.ts";
import { NO_SECRET, SECRET_TAKEN, welcome } from "./words.ts";

/** Exit codes: ended as asked; failed; not understood. */
const GOOD = 0;
const BAD = 1;
const MISUSED = 2;

/** Nobody else can reach it. */
const HOST = "127.0.0.1";

/** Largest message, in bytes; those of the service stay below 20 kB. */
const MAX_BYTES = 64 * 1024;

/** Longest wait for published keys, in milliseconds. */
const KEYS_MS = 10_000;

/** How the program was called. */
interface ProgramCall {
  /** Without the program. */
  readonly argv: readonly string[];
  readonly terminal: Pick<NodeJS.Process, "stdin" | "stdout" | "stderr">;
}

/** Does what a command line says, until it is interrupted. @returns The exit code. */
export async function runListen({ argv, terminal }: ProgramCall): Promise<number> {
  const { stdout, stderr } = terminal;
  try {
    const call = readListenCall(argv);
    if (call.kind === "help") stdout.write(`${HELP}\n`);
    else await listen(call, terminal);
    return GOOD;
  } catch (error) {
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    if (!(error instanceof UsageError)) return BAD;
    stderr.write("npm run listen -- --help says more.\n");
    return MISUSED;
  }
}

type Order = Extract<ListenCall, { readonly kind: "listen" }>;

async function listen(order: Order, { stdin, stdout }: ProgramCall["terminal"]): Promise<void> {
  const say = (text: string) => stdout.write(`${text}\n`);
  const receiver = createReceiver({
    secrets: order.secret === undefined ? [] : [order.secret],
    keys: order.keys === undefined ? [] : await publishedKeys(order.keys),
    failStatus: order.fail,
    now: () => new Date(),
  });
  const server = createServer((req, res) => {
    reply(req, res, receiver).then(say, () => res.destroy());
  });
  const url = await opened(server, order.port);
  const lines = createInterface({ input: stdin });
  lines.on("line", (line) => say(told(line.trim(), receiver)));
  say(welcome(url, order));
  await interrupted();
  lines.close();
  server.close().closeAllConnections();
}

/** @throws {Error} When there are none. */
async function publishedKeys(base: string): Promise<readonly PublicKeyJwk[]> {
  const url = new URL("/.well-known/webhook-keys.json", base);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(KEYS_MS) });
    return WebhookKeySet.parse(await response.json()).keys;
  } catch (cause) {
    throw new Error(`--keys: there are no keys at ${url}.`, { cause });
  }
}

/** @throws {Error} When the port is taken. */
async function opened(server: Server, port: number): Promise<string> {
  server.listen(port, HOST);
  await once(server, "listening");
  return `http://${HOST}:${(server.address() as AddressInfo).port}/`;
}

/** Takes what was typed in. @returns What to say about it. */
function told(text: string, { trust }: Receiver): string {
  if (!isSecret(text)) return NO_SECRET;
  trust(text);
  return SECRET_TAKEN;
}

const interrupted = () =>
  new Promise((resolve) => {
    process.once("SIGINT", resolve).once("SIGTERM", resolve);
  });

/** @returns What to say about the request. */
async function reply(
  req: IncomingMessage,
  res: ServerResponse,
  receiver: Receiver,
): Promise<string> {
  if (req.method !== "POST") {
    res.writeHead(405, { allow: "POST" }).end();
    return "A request that was no POST came; deliveries are.";
  }
  const arrived = { headers: req.headers, body: await wholeBody(req) };
  const { status, body, said } = receiver.receive(arrived);
  res.writeHead(status, { "content-type": "application/json" }).end(body);
  return said;
}

/** @throws {Error} When it is too large, or breaks off. */
async function wholeBody(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error("The message is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
