import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ipAddressKey, networkOf } from "../limits/address-key.ts";
import { NetworkSlots } from "../limits/network-slots.ts";
import type { SharedCapacity } from "../limits/party-share.ts";

/**
 * Maximum number of pipelined requests of a network per `WINDOW_MS`: those that arrive while an
 * earlier one of their connection is not answered. Browsers and the usual HTTP clients send none.
 * One read of 64 kB can hold 2,500, which are all parsed and handled before any other socket is
 * read; the rejection of one takes 60 µs of CPU time (measured).
 */
const MAX_PIPELINED = 500;

/** Time for which pipelined requests of a network are counted, in milliseconds. */
const WINDOW_MS = 3_000;

/**
 * Maximum number of pipelined requests that are not answered at a time. A client that does not read
 * its first answer holds those of all others for minutes, 6 kB each (measured), so 60 MB in all.
 */
const UNANSWERED: SharedCapacity = { total: 10_000, most: MAX_PIPELINED };

/** An open connection. */
interface Connection {
  /** The address of the client (`ipAddressKey`), and its network (`networkOf`). */
  readonly address: string;
  readonly network: string;
  /** Number of its requests that are not answered yet. */
  unanswered: number;
}

/** The pipelined requests of a network in its present window. */
interface Pipelining {
  count: number;
  /** Addresses that sent more than the network may. */
  readonly barred: Set<string>;
}

/**
 * Shares the connections of a server between the networks of its clients.
 *
 * A connection beyond the share of its network takes the place of that network's oldest connection
 * without a request; if there is none, it is closed at once.
 *
 * A pipelined request beyond those of its network, in three seconds or unanswered, closes its
 * connection without an answer, and the connections of the same address that have no request under
 * way, because they could send as many. For the rest of the three seconds, new connections of the
 * address are closed too. Neighbors in the network that do not pipeline notice nothing.
 *
 * Listeners for requests added later get what was already read from a closed connection, and should
 * ignore it.
 */
export function shareConnections(server: Server, capacity: SharedCapacity): void {
  const slots = new NetworkSlots(capacity);
  const open = new Map<Socket, Connection>();
  const silent = createSilentConnections();
  /** The pipelining of each network that has sent pipelined requests. */
  const pipelining = new Map<string, Pipelining>();
  const pipelined = new NetworkSlots(UNANSWERED);

  const openWindow = (network: string): Pipelining => {
    const opened = { count: 0, barred: new Set<string>() };
    pipelining.set(network, opened);
    setTimeout(() => pipelining.delete(network), WINDOW_MS).unref();
    return opened;
  };
  const closeIdle = (address: string): void => {
    for (const [socket, one] of open) {
      if (one.address === address && one.unanswered === 0) socket.destroy();
    }
  };
  const makeRoomFor = (network: string): boolean => {
    if (slots.hasRoomFor(network)) return true;
    const oldest = silent.takeOldest(network);
    oldest?.destroy();
    return oldest !== undefined;
  };
  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress);
    const address = ipAddressKey(socket.remoteAddress);
    if (pipelining.get(network)?.barred.has(address) || !makeRoomFor(network)) {
      socket.destroy();
      return;
    }
    slots.enter(network);
    open.set(socket, { address, network, unanswered: 0 });
    silent.add(network, socket);
    socket.once("close", () => {
      slots.leave(network);
      open.delete(socket);
      silent.remove(network, socket);
    });
  });
  server.on("request", ({ socket }: IncomingMessage, res: ServerResponse) => {
    const connection = open.get(socket);
    if (connection === undefined || socket.destroyed) return;
    const { address, network } = connection;
    silent.remove(network, socket);
    const isPipelined = connection.unanswered > 0;
    connection.unanswered += 1;
    res.on("close", () => {
      connection.unanswered -= 1;
      if (isPipelined) pipelined.leave(network);
    });
    if (!isPipelined) return;
    const window = pipelining.get(network) ?? openWindow(network);
    window.count += 1;
    const hasRoom = pipelined.hasRoomFor(network);
    pipelined.enter(network);
    if (hasRoom && window.count <= MAX_PIPELINED) return;
    socket.destroy();
    if (window.barred.has(address)) return;
    window.barred.add(address);
    closeIdle(address);
  });
}

/** The connections of each network that have not sent a request yet, in the order of arrival. */
function createSilentConnections() {
  const networks = new Map<string, Set<Socket>>();
  const remove = (network: string, socket: Socket): void => {
    const sockets = networks.get(network);
    sockets?.delete(socket);
    if (sockets?.size === 0) networks.delete(network);
  };
  return {
    add(network: string, socket: Socket): void {
      const sockets = networks.get(network);
      if (sockets === undefined) networks.set(network, new Set([socket]));
      else sockets.add(socket);
    },
    remove,
    /** Removes and returns the oldest one of a network, if there is any. */
    takeOldest(network: string): Socket | undefined {
      const [oldest] = networks.get(network) ?? [];
      if (oldest !== undefined) remove(network, oldest);
      return oldest;
    },
  };
}
