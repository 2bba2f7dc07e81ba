import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { chatter } from "./chatter.ts";

/** An event of a Jetstream stream. */
export interface StreamedEvent {
  readonly did: string;
  /** Time of the event, Unix microseconds. */
  readonly time_us: number;
  readonly kind: "commit" | "identity" | "account";
  readonly [member: string]: unknown;
}

/** A post on Bluesky. */
export interface Post {
  readonly text: string;
  /** Time of the event, Unix milliseconds. */
  readonly at: number;
  readonly did?: string;
  readonly rkey?: string;
  /** Creation time according to the author's client; default: `at`. */
  readonly createdAt?: string;
  readonly langs?: readonly string[];
}

const COLLECTION = "app.bsky.feed.post";

/** The event for a new post. */
export function postEvent({ text, at, ...post }: Post): StreamedEvent {
  const { did = "did:plc:writer1", rkey = `r${at}`, langs = ["en"] } = post;
  const createdAt = post.createdAt ?? new Date(at).toISOString();
  return {
    did,
    time_us: at * 1_000,
    kind: "commit",
    commit: {
      rev: `v${at}`,
      operation: "create",
      collection: COLLECTION,
      rkey,
      record: { $type: COLLECTION, createdAt, langs, text },
      cid: `c${at}`,
    },
  };
}

/** The event for a deleted post. */
export const deletionEvent = (at: number): StreamedEvent => ({
  did: "did:plc:writer1",
  time_us: at * 1_000,
  kind: "commit",
  commit: { rev: `v${at}`, operation: "delete", collection: COLLECTION, rkey: `r${at}` },
});

/** The event for a changed account, which is sent regardless of the requested collections. */
export const identityEvent = (at: number): StreamedEvent => ({
  did: "did:plc:writer1",
  time_us: at * 1_000,
  kind: "identity",
  identity: { did: "did:plc:writer1", handle: "writer1.example", seq: at },
});

/**
 * Posts that mention some cashtags in [from, until), Unix milliseconds, oldest first, among
 * unrelated posts.
 */
export function drawnEvents(
  cashtags: readonly string[],
  span: { readonly from: number; readonly until: number; readonly everyMs: number },
): readonly StreamedEvent[] {
  const posts = [...cashtags, "lunch"].flatMap((cashtag) =>
    chatter(cashtag, span).map(({ at, author, text }) =>
      postEvent({ text, at, did: `did:plc:writer${author}`, rkey: `${cashtag}${at}` }),
    ),
  );
  return posts.sort((one, other) => one.time_us - other.time_us);
}

/** A local Jetstream server. */
export interface LocalJetstream {
  /** URL that begins with `ws://`, without a trailing slash. */
  readonly origin: string;
  /** URLs of the connections so far, in order. */
  readonly visits: readonly URL[];
  /** Sends an event to all clients, and keeps it for clients that connect later with a cursor. */
  tell(event: StreamedEvent): void;
  /** Sends a raw text to all clients. */
  sendRaw(text: string): void;
  /** Terminates all connections. */
  breakOff(): void;
  /** Number of open connections. */
  open(): number;
  /** Resolves with the next connection. */
  visited(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a Jetstream server. A client with a `cursor` gets all events from that time on; other
 * clients get only new events.
 *
 * @param clock Unix milliseconds for the Date header; absent: no Date header.
 */
export async function serveJetstream(
  past: readonly StreamedEvent[] = [],
  clock?: () => number,
): Promise<LocalJetstream> {
  const events = [...past];
  const visits: URL[] = [];
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", path: "/subscribe" });
  await once(server, "listening");
  server.on("headers", (headers) => {
    if (clock) headers.push(`Date: ${new Date(clock()).toUTCString()}`);
  });
  const send = (socket: WebSocket, event: StreamedEvent) => socket.send(JSON.stringify(event));
  server.on("connection", (socket, { url = "" }) => {
    const visit = new URL(url, "ws://local");
    visits.push(visit);
    const from = Number(visit.searchParams.get("cursor") ?? Number.POSITIVE_INFINITY);
    for (const event of events) if (event.time_us >= from) send(socket, event);
  });
  return {
    origin: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    visits,
    tell(event) {
      events.push(event);
      for (const socket of server.clients) send(socket, event);
    },
    sendRaw(text) {
      for (const socket of server.clients) socket.send(text);
    },
    breakOff() {
      for (const socket of server.clients) socket.terminate();
    },
    open: () => server.clients.size,
    async visited() {
      await once(server, "connection");
    },
    async close() {
      for (const socket of server.clients) socket.terminate();
      server.close();
      await once(server, "close");
    },
  };
}
