import WebSocket from "ws";
import { ProviderFault } from "../sources/live/fault.ts";
import type { ParsedResponse, StreamedProvider } from "../sources/live/provider.ts";
import { catchFault } from "../sources/live/provider-response.ts";
import { clockFault } from "./provider-client.ts";

/** Maximum size of a message in bytes; a post has about one kilobyte. */
const MAX_MESSAGE_BYTES = 256 * 1024;

/** Number of milliseconds without a message after which a stream counts as dead. */
export const STREAM_SILENCE_MS = 60_000;

/**
 * Maximum number of messages waiting to be written; beyond it, the connection ends and is resumed
 * later.
 */
const MAX_WAITING = 5_000;

/**
 * Maximum number of unreadable messages remembered, so that they are skipped when they arrive again
 * after a reconnect.
 */
const MAX_REFUSED = 10;

/** A connection, and the messages that were read from it. */
export interface StreamConnection {
  readonly socket: WebSocket;
  /** When the last message arrived, Unix milliseconds. */
  heardAt: number;
  readonly waiting: ParsedResponse[];
  /** Why the connection ended; `undefined` while it is open. */
  fault: ProviderFault | undefined;
  /** Ends the connection. */
  end(why: string | ProviderFault): void;
}

/** Dependencies of a connection. */
interface StreamConnectionOptions {
  readonly provider: Pick<StreamedProvider, "path">;
  /** Origin, `ws:` or `wss:`, without a trailing slash. */
  readonly origin: string;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  readonly read: (message: string, now: number) => ParsedResponse | undefined;
  /** Unreadable messages seen before, which are skipped. */
  readonly refused: Set<string>;
  /** Whether this process is still the leader. */
  readonly isLed: () => boolean;
}

/**
 * Connects to a stream and reads its messages.
 *
 * @param cursor Position to resume from.
 */
export function openStreamConnection(
  cursor: string | undefined,
  hearing: StreamConnectionOptions,
): StreamConnection {
  const { provider, origin, now, isLed } = hearing;
  const socket = new WebSocket(origin + provider.path(cursor), {
    maxPayload: MAX_MESSAGE_BYTES,
    handshakeTimeout: STREAM_SILENCE_MS,
    followRedirects: false,
  });
  const connection: StreamConnection = {
    socket,
    heardAt: now(),
    waiting: [],
    fault: undefined,
    end(why) {
      connection.fault ??=
        why instanceof ProviderFault ? why : new ProviderFault("unreachable", why);
      socket.terminate();
    },
  };
  socket.on("upgrade", ({ headers }) => {
    const fault = clockFault((name) => headers[name]?.toString(), now());
    if (fault !== undefined) connection.end(fault);
  });
  socket.on("message", (data) => {
    if (!isLed()) return connection.end("another process follows it");
    connection.heardAt = now();
    if (connection.waiting.length >= MAX_WAITING) connection.end("more came than could be written");
    else take(connection, String(data), hearing);
  });
  socket.on("error", ({ message }) => connection.end(message));
  socket.on("close", (code) => connection.end(`it was closed with ${code}`));
  return connection;
}

function take(
  connection: StreamConnection,
  text: string,
  { read, refused }: StreamConnectionOptions,
): void {
  const reading = catchFault(() => read(text, connection.heardAt), "a message");
  if (!(reading instanceof ProviderFault)) {
    if (reading !== undefined) connection.waiting.push(reading);
  } else if (reading.kind === "clock") {
    // The message is valid and arrives again once the clock is correct, so it is not added to
    // `refused`.
    connection.end(reading);
  } else if (!refused.has(text)) {
    refused.add(text);
    const [oldest] = refused;
    if (refused.size > MAX_REFUSED && oldest !== undefined) refused.delete(oldest);
    connection.end(reading);
  }
}
