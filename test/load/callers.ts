import { connect, type Socket } from "node:net";

/** Result of one request. */
export interface AnsweredRequest {
  /** HTTP status; 0 if the connection closed without an answer. */
  readonly status: number;
  /** Time from the request to the complete answer, in milliseconds. */
  readonly ms: number;
}

/**
 * `polite`: an agent waits for Retry-After after a 503. `rude`: it sends its next request at once.
 */
export type CallerManners = "polite" | "rude";

/** Number and behavior of the agents. */
interface Population {
  /** Maximum number of agents, which is also the maximum number of connections. */
  readonly max: number;
  readonly manners: CallerManners;
}

/** Agents that send requests to one server, each on its own connection. */
export interface Callers {
  /** Sends a request from an idle agent. @returns `undefined` if all agents are busy. */
  send(request: Buffer): Promise<AnsweredRequest> | undefined;
  close(): void;
}

/**
 * Maximum idle time of a connection before it is abandoned, in milliseconds: after 5 s the server
 * may be closing it (`Keep-Alive: timeout=5`).
 */
const MAX_IDLE_MS = 3_000;

const RETRY_AFTER = /\r\nretry-after: (\d+)/i;

const HEAD_END = Buffer.from("\r\n\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** Creates agents on raw sockets, which need little CPU time. */
export function createCallers(port: number, { max, manners }: Population): Callers {
  const idle: { readonly caller: Caller; readonly since: number }[] = [];
  const all = new Set<Caller>();
  const newCaller = (): Caller => {
    const caller = createCaller(port, {
      manners,
      onIdle: () => idle.push({ caller, since: performance.now() }),
      onClose: () => all.delete(caller),
    });
    all.add(caller);
    return caller;
  };
  /** Returns the agent that became idle last, or a new agent. */
  const nextCaller = (): Caller | undefined => {
    const last = idle.pop();
    if (
      last !== undefined &&
      performance.now() - last.since < MAX_IDLE_MS &&
      all.has(last.caller)
    ) {
      return last.caller;
    }
    // This agent has been idle for too long or has lost its connection, and all others have been
    // idle even longer, so all of them leave.
    for (const { caller } of last ? [last, ...idle.splice(0)] : []) leave(caller);
    return all.size < max ? newCaller() : undefined;
  };
  const leave = (caller: Caller): void => {
    all.delete(caller);
    caller.socket.destroy();
  };
  return {
    send: (request) => nextCaller()?.send(request),
    close: () => all.forEach(leave),
  };
}

interface Caller {
  readonly socket: Socket;
  send(request: Buffer): Promise<AnsweredRequest>;
}

interface CallerOptions {
  readonly manners: CallerManners;
  readonly onIdle: () => unknown;
  readonly onClose: () => unknown;
}

function createCaller(port: number, { manners, onIdle, onClose }: CallerOptions): Caller {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let answer: Buffer = Buffer.alloc(0);
  let done: ((status: number) => void) | undefined;
  const end = (status: number): void => {
    done?.(status);
    done = undefined;
  };
  socket.on("data", (chunk: Buffer) => {
    answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk]);
    if (!isWhole(answer)) return;
    const status = Number(answer.toString("latin1", 9, 12));
    const rests = status === 503 && manners === "polite" && RETRY_AFTER.exec(answer.toString());
    answer = Buffer.alloc(0);
    end(status);
    if (rests) setTimeout(onIdle, Number(rests[1]) * 1000).unref();
    else onIdle();
  });
  socket
    .on("error", () => {})
    .once("close", () => {
      onClose();
      end(0);
    });
  return {
    socket,
    send: (request) =>
      new Promise((resolve) => {
        const askedAt = performance.now();
        done = (status) => resolve({ status, ms: performance.now() - askedAt });
        socket.write(request);
      }),
  };
}

function isWhole(answer: Buffer): boolean {
  const head = answer.indexOf(HEAD_END);
  if (head < 0) return false;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer.toString("latin1", 0, head)) ?? [];
  if (length === undefined) return answer.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
  return answer.length >= head + HEAD_END.length + Number(length);
}
