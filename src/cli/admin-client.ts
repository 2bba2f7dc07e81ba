import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { StoreSettings } from "../config/config.ts";
import { splitLines } from "../maintenance/backup/lines.ts";
import type { OnCommandProgress } from "../maintenance/backup/progress.ts";
import {
  AdminAnswerLine,
  DATABASE_HEADER,
  databaseUrlWithoutCredentials,
  OTHER_DATABASE_STATUS,
} from "./admin-protocol.ts";
import { openSocketAddress } from "./admin-socket-path.ts";
import { type CommandOutcome, ConfirmationNeeded } from "./command.ts";

/** A command to run in the server. */
interface ServerCommandRequest {
  readonly name: string;
  /** The arguments as they were written. */
  readonly input: unknown;
  readonly settings: StoreSettings;
  /** Cancels the command when aborted. */
  readonly signal: AbortSignal;
}

/**
 * Error codes of a connection when no server runs: no socket, a socket whose server crashed, or no
 * folder.
 */
const NO_SERVER: readonly (string | undefined)[] = ["ENOENT", "ECONNREFUSED", "ENOTDIR"];

/**
 * Runs a command in the server that has the store open.
 *
 * @returns The outcome; `undefined` when no server has the store open.
 * @throws {Error} When the command fails, or the server exits before the command has ended.
 */
export async function runCommandInServer(
  command: ServerCommandRequest,
  onProgress: OnCommandProgress,
): Promise<CommandOutcome | undefined> {
  const response = await send(command);
  if (response === undefined) return undefined;
  for await (const line of splitLines(response)) {
    const answer = AdminAnswerLine.parse(JSON.parse(line.toString("utf8")));
    if ("outcome" in answer) return answer.outcome;
    if ("progress" in answer) onProgress(answer.progress);
    else throw errorOf(answer.error);
  }
  throw new Error("the server ended before the command was done");
}

async function send(command: ServerCommandRequest): Promise<IncomingMessage | undefined> {
  try {
    const { settings } = command;
    const address = await openSocketAddress(settings.folder);
    const response = await post(address.path, command).finally(address.close);
    if (response.statusCode !== OTHER_DATABASE_STATUS) return response;
    response.resume();
    return undefined;
  } catch (error) {
    if (NO_SERVER.includes((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

async function post(
  socketPath: string,
  { name, input, settings, signal }: ServerCommandRequest,
): Promise<IncomingMessage> {
  const body = Buffer.from(JSON.stringify(input));
  const { databaseUrl } = settings;
  const outgoing = request({
    socketPath,
    path: `/${name.replaceAll(" ", "-")}`,
    method: "POST",
    signal,
    agent: false,
    headers: {
      "content-type": "application/json",
      "content-length": body.length,
      ...(databaseUrl !== undefined && {
        [DATABASE_HEADER]: databaseUrlWithoutCredentials(databaseUrl),
      }),
    },
  });
  outgoing.end(body);
  const [response] = await once(outgoing, "response");
  return response as IncomingMessage;
}

function errorOf({ message, needsConfirmation }: { message: string; needsConfirmation: boolean }) {
  return needsConfirmation ? new ConfirmationNeeded(message) : new Error(message);
}
