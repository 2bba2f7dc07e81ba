import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { OnProgress } from "../store/backup/progress.ts";
import { faultText } from "../store/port/unavailable.ts";
import {
  type AnswerLine,
  DATABASE_HEADER,
  databaseAddress,
  OTHER_DATABASE,
} from "./admin-protocol.ts";
import { bindSocket, openSocketAddress } from "./admin-socket-path.ts";
import { type CommandContext, ConfirmationNeeded } from "./command.ts";
import { refuseStoreFiles } from "./run-on-store.ts";

/** Largest body: the arguments of a command are a path and a few words. */
const MAX_BODY_BYTES = 65_536;

/** Interval of progress lines, in milliseconds. */
const PROGRESS_EVERY_MS = 100;

/** Where commands are accepted, and what they work on. */
export interface AdminOptions {
  /** Folder of the socket; absolute. */
  readonly folder: string;
  readonly context: CommandContext;
  /** Address of the database, if the store is not the embedded one of the folder. */
  readonly databaseUrl?: string | undefined;
}

/** Accepts commands until it is closed. */
export interface AdminSocket {
  /** Accepts no more commands, cancels running ones and waits until they have ended. */
  close(): Promise<void>;
}

/**
 * Accepts the operator's commands on `admin.sock` in a folder: `POST /<command>` with its arguments
 * as JSON, answered with lines of JSON. Only the owner of the process can connect. A socket left by a
 * crash is replaced; one that another server on the same database serves is left to it.
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
  const database = databaseUrl === undefined ? undefined : databaseAddress(databaseUrl);
  const stopping = new AbortController();
  const serving: Serving = { context, folder, signal: stopping.signal, running: new Set() };
  const server = createServer((req, res) => {
    const wanted = req.headers[DATABASE_HEADER];
    if (wanted === undefined || wanted === database) void answer(req, res, serving);
    else res.writeHead(OTHER_DATABASE).end();
  });
  if (!(await bindSocket(server, address.path))) return { close: address.close };
  let closing: Promise<void> | undefined;
  const close = async () => {
    stopping.abort(new Error("the server stops, and the command with it"));
    await closeServer(server, serving.running);
    await address.close();
  };
  return {
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Closes the server, without waiting for connections that have sent no complete command. */
async function closeServer(server: Server, running: Serving["running"]): Promise<void> {
  const closed = once(server, "close");
  server.close();
  await Promise.all(running);
  server.closeAllConnections();
  await closed;
}

/** State of the socket. */
interface Serving {
  readonly context: CommandContext;
  /** Folder of the socket, and of an embedded store. */
  readonly folder: string;
  /** Cancels running commands. */
  readonly signal: AbortSignal;
  /** Responses to complete commands, until they are sent. */
  readonly running: Set<Promise<void>>;
}

async function answer(req: IncomingMessage, res: ServerResponse, serving: Serving): Promise<void> {
  const answered = new Promise<void>((resolve) => res.once("close", resolve));
  res.writeHead(200, { "content-type": "application/x-ndjson" });
  try {
    const { command, args } = await readRequest(req);
    serving.signal.throwIfAborted();
    serving.running.add(answered);
    await refuseStoreFiles(args, serving.folder);
    const onProgress = throttled(res, serving.signal);
    send(res, { outcome: await command.run(args, serving.context, onProgress) });
  } catch (error) {
    const needsConfirmation = error instanceof ConfirmationNeeded;
    send(res, { error: { message: faultText(error), needsConfirmation } });
  }
  res.end();
  await answered;
  serving.running.delete(answered);
}

function send(res: ServerResponse, line: AnswerLine): void {
  if (!res.destroyed) res.write(`${JSON.stringify(line)}\n`);
}

/** Reads a request. The first one loads the commands, many of which need PostgreSQL. */
async function readRequest(req: IncomingMessage) {
  const { storeCommands } = await import("./store-commands.ts");
  const name = (req.url ?? "").slice(1).replaceAll("-", " ");
  const command = storeCommands.get(name);
  if (req.method !== "POST" || command === undefined) {
    throw new Error(`the server knows no command ${JSON.stringify(name)}`);
  }
  if (!(Number(req.headers["content-length"]) <= MAX_BODY_BYTES)) {
    throw new Error("the arguments are too long");
  }
  const args = command.args.parse(JSON.parse(await text(req)));
  return { command, args };
}

/** Sends progress at intervals; cancels the command when its client disconnects or the server stops. */
function throttled(res: ServerResponse, signal: AbortSignal): OnProgress {
  let nextAt = 0;
  return (progress) => {
    signal.throwIfAborted();
    if (res.destroyed) throw new Error("the operator has stopped the command");
    const now = performance.now();
    if (now < nextAt) return;
    nextAt = now + PROGRESS_EVERY_MS;
    send(res, { progress });
  };
}
