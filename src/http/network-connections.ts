import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ipAddressKey, networkOf } from "../limits/address-key.ts";
import { NetworkSlots } from "../limits/network-slots.ts";
import type { SharedCapacity } from "../limits/party-share.ts";
import { countChunks, isChunked } from "./chunked-body.ts";
import { NetworkBursts, type Origin, WINDOW_MS } from "./network-bursts.ts";
import { createSocketPause } from "./socket-pause.ts";

/** An open connection. */
interface Connection extends Origin {
  /** Number of its requests that are not answered yet. */
  unanswered: number;
}

/**
 * Shares the connections of a server between the networks of its clients.
 *
 * A connection beyond the share of its network takes the place of that network's oldest connection
 * without a request; if there is none, it is closed at once.
 *
 * A pipelined request beyond those of its network, in three seconds or unanswered, closes its
 * connection without an answer, and bars its address for the rest of the three seconds, because its
 * other connections could send as many: those that have a request under way are not read for three
 * seconds, the others are closed, and so are new ones. Neighbors in the network that do not pipeline
 * notice nothing, unless four addresses of the network are barred: then all are.
 *
 * Listeners for requests added later get what was already read from a closed connection, and should
 * ignore it.
 */
export function shareConnections(server: Server, capacity: SharedCapacity): void {
  const slots = new NetworkSlots(capacity);
  const open = new Map<Socket, Connection>();
  const silent = createSilentConnections();
  const bursts = new NetworkBursts();
  const pause = createSocketPause(WINDOW_MS);

  const cutOff = (socket: Socket, connection: Connection): void => {
    socket.destroy();
    if (bursts.isBarred(connection)) return;
    bursts.bar(connection);
    for (const [other, one] of open) {
      if (!bursts.isBarred(one)) continue;
      if (one.unanswered === 0) other.destroy();
      else pause(other);
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
    const connection = { address: ipAddressKey(socket.remoteAddress), network, unanswered: 0 };
    if (bursts.isBarred(connection) || !makeRoomFor(network)) {
      socket.destroy();
      return;
    }
    slots.enter(network);
    open.set(socket, connection);
    silent.add(network, socket);
    socket.once("close", () => {
      slots.leave(network);
      open.delete(socket);
      silent.remove(network, socket);
    });
  });
  server.on("request", (req: IncomingMessage, res: ServerResponse) => {
    const { socket } = req;
    const connection = open.get(socket);
    if (connection === undefined || socket.destroyed) return;
    const { network } = connection;
    silent.remove(network, socket);
    const isPipelined = connection.unanswered > 0;
    connection.unanswered += 1;
    let counted = 0;
    const count = (): void => {
      counted += 1;
      if (!bursts.enter(network)) cutOff(socket, connection);
    };
    res.on("close", () => {
      connection.unanswered -= 1;
      for (; counted > 0; counted -= 1) bursts.leave(network);
    });
    if (isPipelined) count();
    if (isChunked(req)) countChunks(req, res, count);
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
