import { getWith, newToken, type RegisteredAgent, register } from "../support/agent.ts";

/** A kind of request, and its share of the load. */
export interface RequestKind {
  readonly name: string;
  /** Share of this kind, in percent. */
  readonly share: number;
  /** Raw HTTP requests, from which callers choose at random. */
  readonly requests: readonly Buffer[];
}

/** Number of agents that send the requests. */
const AGENTS = 10;

/** Maximum number of different instruments in the requests. */
const SYMBOLS = 20;

/** The typical mix of an agent's requests, dominated by expensive requests. */
export async function mixFor(baseUrl: string): Promise<readonly RequestKind[]> {
  const tokens = await inTurn(AGENTS, () => newToken(baseUrl));
  const mcpTokens = await inTurn(AGENTS, () => newToken(baseUrl, { resource: `${baseUrl}/mcp` }));
  const clients = await inTurn(AGENTS, () => register(baseUrl));
  const symbols = await symbolsAt(baseUrl, tokens[0] ?? "");
  const pairsOf = (some: readonly string[]) =>
    some.flatMap((token) => symbols.map((symbol) => [token, symbol] as const));
  const [pairs, mcpPairs] = [pairsOf(tokens), pairsOf(mcpTokens)];
  const read = (path: string) =>
    pairs.map(([token, symbol]) => rawGet(`${path}symbol=${symbol}`, token));
  return [
    { name: "signal", share: 35, requests: read("/api/signals?") },
    { name: "MCP", share: 35, requests: mcpPairs.map(([token, symbol]) => mcp(symbol, token)) },
    {
      name: "history of 500",
      share: 15,
      requests: read("/api/signals?from=2020-01-01T00:00:00Z&limit=500&"),
    },
    { name: "token", share: 15, requests: clients.map(tokenRequest) },
  ];
}

async function symbolsAt(baseUrl: string, token: string): Promise<readonly string[]> {
  const answer = await getWith(token, `${baseUrl}/api/instruments?limit=${SYMBOLS}`);
  const { items } = (await answer.json()) as { readonly items: readonly { symbol: string }[] };
  return items.map(({ symbol }) => symbol);
}

async function inTurn<T>(times: number, make: () => Promise<T>): Promise<readonly T[]> {
  const made: T[] = [];
  for (let time = 0; time < times; time++) made.push(await make());
  return made;
}

/** A raw GET request. */
export const rawGet = (path: string, token?: string): Buffer =>
  Buffer.from(
    `GET ${path} HTTP/1.1\r\nHost: load.test\r\n${token ? `Authorization: Bearer ${token}\r\n` : ""}\r\n`,
  );

/** A raw POST request. */
export function rawPost(
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Buffer {
  const fields = { Host: "load.test", ...headers, "Content-Length": Buffer.byteLength(body) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
}

function mcp(symbol: string, token: string): Buffer {
  const message = {
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name: "get_signal", arguments: { symbol } },
  };
  return rawPost("/mcp", JSON.stringify(message), {
    ...{ Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...{ Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25" },
  });
}

function tokenRequest({ client_id, client_secret }: RegisteredAgent): Buffer {
  const form = new URLSearchParams({
    ...{ grant_type: "client_credentials", client_id, client_secret },
  });
  return rawPost("/oauth/token", String(form), {
    "Content-Type": "application/x-www-form-urlencoded",
  });
}
