import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";

/** A request that is repeated, and text that its answer must contain. */
interface Asked {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON body of a POST; absent: the request is a GET. */
  readonly body?: string;
  readonly holds: string;
}

/** Requests to a service over REST and both MCP eras. */
export function questions(key: string): readonly Asked[] {
  const credential = { "x-api-key": key };
  const params = { name: "get_signal", arguments: { symbol: "ALDER.SIM" } };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call" };
  const mcp = {
    ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
    ...credential,
  };
  const client = { name: "caller", version: "1" };
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": client,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const holds = "ALDER.SIM";
  return [
    { path: "/api/signals?symbol=ALDER.SIM", headers: credential, holds },
    { path: "/api/instruments?limit=5", headers: credential, holds: "items" },
    {
      ...{ path: "/mcp", holds },
      headers: { ...mcp, "mcp-protocol-version": "2025-11-25" },
      body: JSON.stringify({ ...message, params }),
    },
    {
      ...{ path: "/mcp", holds },
      headers: {
        ...mcp,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "get_signal",
      },
      body: JSON.stringify({ ...message, params: { ...params, _meta: meta } }),
    },
  ];
}

/** Options of the callers. */
export interface CallersOptions {
  readonly base: string;
  readonly key: string;
  /** Number of callers that reuse one connection. */
  readonly keeping: number;
  /** Number of callers that open a new connection for each request. */
  readonly fresh: number;
  /**
   * Minimum pause of a caller between two requests, in milliseconds; the maximum is twice as long.
   */
  readonly pauseMs: number;
}

/** Running callers and their results. */
export interface Callers {
  /** Number of requests with a correct answer. */
  readonly answered: () => number;
  /** Number of failures by description. */
  readonly failures: ReadonlyMap<string, number>;
  /** Resolves when all callers have stopped. */
  stop(): Promise<void>;
}

/** Starts callers that never retry a request. */
export function startCallers(options: CallersOptions): Callers {
  const { base, key, keeping, fresh, pauseMs } = options;
  const asked = questions(key);
  const failures = new Map<string, number>();
  const stopping = new AbortController();
  const agents: Agent[] = [];
  let answered = 0;
  const caller = async (at: number): Promise<void> => {
    const agent = new Agent({ keepAlive: at < keeping, maxSockets: 1 });
    agents.push(agent);
    for (let turn = at; !stopping.signal.aborted; turn += 1) {
      const question = asked[turn % asked.length] as Asked;
      const fault = await faultOf(base, question, agent);
      if (fault === undefined) answered += 1;
      else failures.set(fault, (failures.get(fault) ?? 0) + 1);
      await pause(pauseMs * (1 + Math.random()));
    }
  };
  const calling = Array.from({ length: keeping + fresh }, (_, at) => caller(at));
  return {
    answered: () => answered,
    failures,
    async stop() {
      stopping.abort();
      await Promise.all(calling);
      for (const agent of agents) agent.destroy();
    },
  };
}

/** Prints the failures to standard error. @returns Their number. */
export function printFailures({ failures }: Pick<Callers, "failures">): number {
  for (const [fault, times] of failures) process.stderr.write(`${times} times: ${fault}\n`);
  return [...failures.values()].reduce((sum, times) => sum + times, 0);
}

/** Timeout of a request, in milliseconds. */
const PATIENCE_MS = 10_000;

/** Sends a request. @returns What is wrong with the answer; `undefined`: nothing. */
async function faultOf(base: string, asked: Asked, agent: Agent): Promise<string | undefined> {
  const { path, headers, body, holds } = asked;
  const method = body === undefined ? "GET" : "POST";
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const sent = request(new URL(path, base), { method, headers, agent, signal });
  sent.end(body);
  try {
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const said = await text(answer);
    if (answer.statusCode !== 200) return `${method} ${path}: ${answer.statusCode} ${said}`;
    return said.includes(holds) ? undefined : `${method} ${path}: ${said}`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `${method} ${path}: ${code ?? message}${sent.reusedSocket ? " on a kept connection" : ""}`;
  }
}
