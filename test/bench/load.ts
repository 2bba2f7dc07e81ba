import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/**
 * Load that callers send for a while. Each caller has its own connection and waits for an answer
 * before it sends the next request.
 */
export interface Load {
  /** Ports on this machine; the callers are spread evenly over them. */
  readonly ports: readonly number[];
  readonly callers: number;
  readonly ms: number;
  /**
   * Callers take these requests round-robin; with as many requests as callers, each caller repeats
   * its own request.
   */
  readonly calls: readonly RawCall[];
}

/** A raw HTTP request, and text that the right answer contains. */
export interface RawCall {
  readonly request: string;
  readonly expected: string;
}

/** Result of the load. */
export interface LoadResult {
  /** Number of answers with status 200 and the right body. */
  readonly answered: number;
  /** Number of answers with status 503 because the server was overloaded. */
  readonly refused: number;
  /** Number of wrong answers, and the text of the first one. */
  readonly wrong: number;
  readonly firstWrong: string | undefined;
  readonly seconds: number;
  /** Median and 99th percentile of the latency, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU time of the calling process per answer, in microseconds. */
  readonly callerMicros: number;
}

const HEAD_END = Buffer.from("\r\n\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");
const OK = Buffer.from("HTTP/1.1 200 ");
const REFUSED = Buffer.from("HTTP/1.1 503 ");

/** Pause of a caller after a 503, in milliseconds. */
const REST_MS = 100;

/** Offset of the answer's end; `undefined` while its end is unknown. */
function endOf(answer: Buffer): number | undefined {
  const head = answer.indexOf(HEAD_END);
  if (head < 0) return undefined;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer.toString("latin1", 0, head)) ?? [];
  if (length !== undefined) return head + HEAD_END.length + Number(length);
  const last = answer.indexOf(LAST_CHUNK, head);
  return last < 0 ? undefined : last + LAST_CHUNK.length;
}

async function run({ ports, callers, ms, calls }: Load): Promise<LoadResult> {
  const sockets = await Promise.all(
    Array.from({ length: callers }, (_, at) => open(ports[at % ports.length] ?? 0)),
  );
  const ready = calls.map(({ request, expected }) => ({
    ...{ request: Buffer.from(request), expected: Buffer.from(expected) },
  }));
  const tally = createTally();
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  const isOver = () => performance.now() - startedAt >= ms;
  await Promise.all(
    sockets.map(async (socket, first) => {
      for (let at = first; !isOver(); at += callers) {
        await tally.call(socket, ready[at % ready.length] as ReadyCall);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  for (const socket of sockets) socket.destroy();
  return { ...tally.summary(), seconds, callerMicros: (user + system) / tally.took.length };
}

interface ReadyCall {
  readonly request: Buffer;
  readonly expected: Buffer;
}

/** Counts answers and records their latencies. */
function createTally() {
  const took: number[] = [];
  let [refused, wrong, firstWrong] = [0, 0, undefined as string | undefined];
  return {
    took,
    async call(socket: Socket, { request, expected }: ReadyCall): Promise<void> {
      const askedAt = performance.now();
      const answer = await exchange(socket, request);
      const answeredAt = performance.now();
      if (startsWith(answer, REFUSED)) {
        refused++;
        await pause(REST_MS);
      } else if (startsWith(answer, OK) && answer.includes(expected)) {
        took.push(answeredAt - askedAt);
      } else if (wrong++ === 0) firstWrong = answer.toString();
    },
    summary() {
      took.sort((a, b) => a - b);
      const at = (part: number) => took[Math.floor(part * took.length)] ?? Number.NaN;
      return { answered: took.length, refused, wrong, firstWrong, p50: at(0.5), p99: at(0.99) };
    },
  };
}

const startsWith = (answer: Buffer, start: Buffer): boolean =>
  answer.subarray(0, start.length).equals(start);

/** Sends a request and waits for the whole answer. */
function exchange(socket: Socket, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let answer: Buffer = Buffer.alloc(0);
    const onClose = () => reject(new Error("the server closed the connection"));
    const onData = (chunk: Buffer) => {
      answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk]);
      const end = endOf(answer);
      if (end === undefined || answer.length < end) return;
      socket.off("data", onData).off("close", onClose);
      resolve(answer);
    };
    socket.on("data", onData).once("close", onClose);
    socket.write(request);
  });
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  // An error after the connection is open also emits `close`, which is handled.
  return socket.on("error", () => undefined);
}

process.on("message", (load: Load) => {
  run(load).then(
    (loaded) => process.send?.(loaded),
    (error) => process.send?.({ failed: String(error) }),
  );
});
