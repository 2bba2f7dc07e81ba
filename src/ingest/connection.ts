import WebSocket from "ws";
import { orFault } from "../sources/live/answer.ts";
import { ProviderFault } from "../sources/live/fault.ts";
import type { Reading, StreamedProvider } from "../sources/live/provider.ts";
import { clockFault } from "./provider-client.ts";

/** Largest message in bytes; a post has about one kilobyte. */
const MAX_MESSAGE_BYTES = 256 * 1024;

/** A stream that says nothing for this long is taken for dead, in milliseconds. */
export const SILENCE_MS = 60_000;

/** Data that wait to be written at most; what comes then is read again later. */
const MAX_WAITING = 5_000;

/** Messages that could not be read that are remembered: when they come again they are passed over,
 *  since they would come for ever. */
const MAX_REFUSED = 10;

/** A connection and what came over it. */
export interface Connection {
  readonly socket: WebSocket;
  /** When the last message came that was taken, Unix milliseconds. */
  heardAt: number;
  readonly waiting: Reading[];
  /** Why it ended, once it has. */
  fault: ProviderFault | undefined;
  /** Ends it. */
  end(why: string | ProviderFault): void;
}

/** What a connection is made with. */
export interface ConnectionOptions {
  readonly provider: Pick<StreamedProvider, "path">;
  /** Where it is, `ws:` or `wss:`, without a trailing slash. */
  readonly origin: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly read: (message: string, now: number) => Reading | undefined;
  /** Messages that could not be read. */
  readonly refused: Set<string>;
  /** Whether this process is still the one that follows. */
  readonly isLed: () => boolean;
}

/** Connects to a stream and takes in what comes. @param cursor Where to go on. */
export function connect(cursor: string | undefined, hearing: ConnectionOptions): Connection {
  const { provider, origin, now, isLed } = hearing;
  const socket = new WebSocket(origin + provider.path(cursor), {
    maxPayload: MAX_MESSAGE_BYTES,
    handshakeTimeout: SILENCE_MS,
    followRedirects: false,
  });
  const made: Connection = {
    socket,
    heardAt: now(),
    waiting: [],
    fault: undefined,
    end(why) {
      made.fault ??= why instanceof ProviderFault ? why : new ProviderFault("unreachable", why);
      socket.terminate();
    },
  };
  socket.on("upgrade", ({ headers }) => {
    const fault = clockFault((name) => headers[name]?.toString(), now());
    if (fault !== undefined) made.end(fault);
  });
  socket.on("message", (data) => {
    if (!isLed()) return made.end("another process follows it");
    made.heardAt = now();
    if (made.waiting.length >= MAX_WAITING) made.end("more came than could be written");
    else take(made, String(data), hearing);
  });
  socket.on("error", ({ message }) => made.end(message));
  socket.on("close", (code) => made.end(`it was closed with ${code}`));
  return made;
}

function take(connection: Connection, text: string, { read, refused }: ConnectionOptions): void {
  const reading = orFault(() => read(text, connection.heardAt), "a message");
  if (!(reading instanceof ProviderFault)) {
    if (reading !== undefined) connection.waiting.push(reading);
  } else if (reading.kind === "clock") {
    // It is well; it comes again when the clock is right.
    connection.end(reading);
  } else if (!refused.has(text)) {
    refused.add(text);
    const [oldest] = refused;
    if (refused.size > MAX_REFUSED && oldest !== undefined) refused.delete(oldest);
    connection.end(reading);
  }
}
