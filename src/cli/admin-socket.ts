import { once } from "node:events";
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { OnProgress } from "../store/copies/progress.ts";
import { type AnswerLine, DATABASE_HEADER, databasePlace, OTHER_DATABASE } from "./answer.ts";
import { type CommandContext, ConfirmationNeeded } from "./command.ts";
import { commands } from "./commands.ts";
import { openSocketAddress, SOCKET_NAME, type SocketAddress } from "./socket-address.ts";

/** Arguments of a command are a path and a few words. */
const MAX_BODY_BYTES = 65_536;

/** Pause between two lines that say how far a command is, in milliseconds. */
const PROGRESS_EVERY_MS = 100;

/** Where commands are taken, and what they work on. */
export interface AdminOptions {
  /** Folder of the socket; absolute. */
  readonly folder: string;
  readonly context: CommandContext;
  /** Where the store of the context is, when it is not the embedded one of the folder. */
  readonly databaseUrl?: string | undefined;
}

/** Commands are taken until it is closed. */
export interface AdminSocket {
  /** Takes no more commands, ends those under way in good order, and waits for that. */
  close(): Promise<void>;
}

/**
 * Takes the operator's commands over `admin.sock` in a folder: `POST /<command>` with its arguments
 * as JSON, answered by lines of JSON. Only the owner of the process can connect. What a crash left
 * is removed; when another server on the same database already takes commands there, it goes on.
 *
 * @throws {Error} When the folder cannot hold a socket.
 */
export async function serveAdmin({
  folder,
  context,
  databaseUrl,
}: AdminOptions): Promise<AdminSocket> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const address = await openSocketAddress(folder);
  if (await isServed(address)) return { close: address.close };
  await rm(join(folder, SOCKET_NAME), { force: true });
  const place = databaseUrl === undefined ? undefined : databasePlace(databaseUrl);
  const stopping = new AbortController();
  const { signal } = stopping;
  const server = createServer((req, res) => {
    const wanted = req.headers[DATABASE_HEADER];
    if (wanted === undefined || wanted === place) void answer(req, res, { context, signal });
    else res.writeHead(OTHER_DATABASE).end();
  });
  server.listen(address.path);
  await once(server, "listening");
  if (process.platform !== "win32") await chmod(address.path, 0o600);
  return {
    async close() {
      stopping.abort(new Error("the server stops, and the command with it"));
      server.close();
      await once(server, "close");
      await address.close();
    },
  };
}

async function isServed({ path }: SocketAddress): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

interface Serving {
  readonly context: CommandContext;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

async function answer(req: IncomingMessage, res: ServerResponse, serving: Serving): Promise<void> {
  const send = (line: AnswerLine) => {
    if (!res.destroyed) res.write(`${JSON.stringify(line)}\n`);
  };
  res.writeHead(200, { "content-type": "application/x-ndjson" });
  try {
    const { command, args } = await readRequest(req);
    const onProgress = throttled(res, send, serving.signal);
    send({ outcome: await command.run(args, serving.context, onProgress) });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    send({ error: { message, needsConfirmation: error instanceof ConfirmationNeeded } });
  }
  res.end();
}

async function readRequest(req: IncomingMessage) {
  const name = (req.url ?? "").slice(1).replaceAll("-", " ");
  const command = commands.get(name);
  if (req.method !== "POST" || command === undefined) {
    throw new Error(`the server knows no command ${JSON.stringify(name)}`);
  }
  if (!(Number(req.headers["content-length"]) <= MAX_BODY_BYTES)) {
    throw new Error("the arguments are too long");
  }
  const args = command.args.parse(JSON.parse(await text(req)));
  return { command, args };
}

/** Tells progress now and then; ends the command when its operator has gone or the server stops. */
function throttled(
  res: ServerResponse,
  send: (line: AnswerLine) => void,
  signal: AbortSignal,
): OnProgress {
  let nextAt = 0;
  return (progress) => {
    signal.throwIfAborted();
    if (res.destroyed) throw new Error("the operator has stopped the command");
    const now = performance.now();
    if (now < nextAt) return;
    nextAt = now + PROGRESS_EVERY_MS;
    send({ progress });
  };
}
