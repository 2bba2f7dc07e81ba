import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { createFolder } from "../lib/create-folder.ts";
import type { OnCommandProgress } from "../maintenance/backup/progress.ts";
import { operatorErrorText } from "../store/port/unavailable.ts";
import {
  type AdminAnswerLine,
  DATABASE_HEADER,
  databaseUrlWithoutCredentials,
  OTHER_DATABASE_STATUS,
} from "./admin-protocol.ts";
import { bindSocket, openSocketAddress } from "./admin-socket-path.ts";
import { type CommandContext, ConfirmationNeeded } from "./command.ts";
import { parseArguments } from "./command-line.ts";
import { rejectStoreFileArguments } from "./run-on-store.ts";

/**
 * Maximum length of a request body, in bytes: the arguments of a command are a path and a few
 * words.
 */
const MAX_BODY_BYTES = 65_536;

/** Minimum interval between progress lines, in milliseconds. */
const PROGRESS_EVERY_MS = 100;

/** The location of the socket, and the context in which commands run. */
interface AdminSocketOptions {
  /** Absolute path of the folder of the socket. */
  readonly folder: string;
  readonly context: CommandContext;
  /** URL of the database; absent if the store is the embedded store in `folder`. */
  readonly databaseUrl?: string | undefined;
}

/** A socket that accepts commands until it is closed. */
export interface AdminSocket {
  /** Stops accepting commands, cancels running commands and waits until they have ended. */
  close(): Promise<void>;
}

/**
 * Accepts the operator's commands on `admin.sock` in a folder: `POST /<command>` with the arguments
 * as JSON, as they were written; the response is a sequence of JSON lines. Only the owner of the
 * process can connect. A socket left by a crash is replaced; a socket that another server on the
 * same database serves is left alone.
 *
 * @throws {Error} When no socket can be created in the folder.
 */
export async function serveAdmin({
  folder,
  context,
  databaseUrl,
}: AdminSocketOptions): Promise<AdminSocket> {
  createFolder(folder, 0o700);
  const address = await openSocketAddress(folder);
  const database =
    databaseUrl === undefined ? undefined : databaseUrlWithoutCredentials(databaseUrl);
  const stopping = new AbortController();
  const serving: Serving = { context, folder, signal: stopping.signal, running: new Set() };
  const server = createServer((req, res) => {
    const wanted = req.headers[DATABASE_HEADER];
    if (wanted === undefined || wanted === database) void answer(req, res, serving);
    else res.writeHead(OTHER_DATABASE_STATUS).end();
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

/** Closes the server without waiting for connections that have not sent a complete command. */
async function closeServer(server: Server, running: Serving["running"]): Promise<void> {
  const closed = once(server, "close");
  server.close();
  await Promise.all(running);
  server.closeAllConnections();
  await closed;
}

/** State that all requests on the socket share. */
interface Serving {
  readonly context: CommandContext;
  /** Folder of the socket; an embedded store is in the same folder. */
  readonly folder: string;
  /** Cancels running commands when aborted. */
  readonly signal: AbortSignal;
  /** Pending responses to commands that were received completely. */
  readonly running: Set<Promise<void>>;
}

async function answer(req: IncomingMessage, res: ServerResponse, serving: Serving): Promise<void> {
  const answered = new Promise<void>((resolve) => res.once("close", resolve));
  res.writeHead(200, { "content-type": "application/x-ndjson" });
  try {
    const { command, args } = await readRequest(req);
    serving.signal.throwIfAborted();
    serving.running.add(answered);
    await rejectStoreFileArguments(args, serving.folder);
    const onProgress = throttled(res, serving.signal);
    send(res, { outcome: await command.run(args, serving.context, onProgress) });
  } catch (error) {
    const needsConfirmation = error instanceof ConfirmationNeeded;
    send(res, { error: { message: operatorErrorText(error), needsConfirmation } });
  }
  res.end();
  await answered;
  serving.running.delete(answered);
}

function send(res: ServerResponse, line: AdminAnswerLine): void {
  if (!res.destroyed) res.write(`${JSON.stringify(line)}\n`);
}

/**
 * Reads a request. The first request loads the code of the commands, some of which import the
 * PostgreSQL driver.
 */
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
  const args = parseArguments(command, JSON.parse(await text(req)));
  return { command, args };
}

/**
 * Creates a callback that sends progress at most once per `PROGRESS_EVERY_MS`. The callback throws
 * when the client has disconnected or the server is stopping, which cancels the command.
 */
function throttled(res: ServerResponse, signal: AbortSignal): OnCommandProgress {
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
