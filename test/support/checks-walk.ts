import { isDeepStrictEqual } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import {
  type Arguments,
  advisedArguments,
  createMemory,
  leastArguments,
  type Memory,
  moreArguments,
  type Schema,
} from "./checks-arguments.ts";
import { authorizeByChallenge, discoverDescriptions, type Json } from "./checks-finding.ts";

/** A tool in a tools/list result. */
interface ListedTool {
  readonly name: string;
  readonly inputSchema: Schema;
  readonly outputSchema?: Schema;
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean };
}

/** A tool call and its result. */
export interface WalkedCall {
  readonly tool: string;
  readonly sent: Arguments;
  /**
   * `refused`: the tool answered with an error. `forbidden`: a person must claim the agent first.
   */
  readonly outcome: "ok" | "refused" | "forbidden";
  /** Whether the call added an argument that an earlier error mentioned. */
  readonly isAdvised: boolean;
  /** Text of the error; empty if there was no error. */
  readonly words: string;
  /** Scopes that a `forbidden` result requires. */
  readonly scopes: readonly string[];
}

/** Result of a walk. */
export interface Walk {
  /** Descriptions of the steps taken, in order. */
  readonly steps: readonly string[];
  readonly tools: readonly ListedTool[];
  /** Calls of the agent before it was claimed. */
  readonly alone: readonly WalkedCall[];
  /** Calls of the agent after it was claimed. */
  readonly claimed: readonly WalkedCall[];
  /** The OpenAPI document, as text. */
  readonly description: string;
  /** The text that `agent_auth.skill` links to. */
  readonly advice: string;
  /** All strings that answers contained under a member name. */
  readonly said: Memory["all"];
}

/** Options of a walk. */
export interface WalkOptions {
  readonly baseUrl: string;
  /** Acts as the person who claims the agent, given its registration response. */
  readonly person: (registration: Json) => Promise<unknown>;
}

const REVISION = "2026-07-28";

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

/**
 * Walks through a service like an agent that knows only the standards (RFC 9727, 9728, 8414, 7591,
 * 6749, 8707, MCP) and the base URL.
 */
export async function walk({ baseUrl, person }: WalkOptions): Promise<Walk> {
  const steps: string[] = [];
  const memory = createMemory();
  const { card, description } = await discoverDescriptions(baseUrl, steps);
  const [{ url: endpoint }] = card.remotes as [{ url: string }];

  const way = await authorizeByChallenge(endpoint, steps);
  const rpc = remote(endpoint);
  const tools = await listed(rpc, await way.token());
  steps.push(`tools/list: ${tools.length} tools`);
  const round = { tools, rpc, memory };

  const alone = await callAll({ ...round, token: await way.token() });
  const wanted = [...new Set(alone.flatMap(({ scopes }) => scopes))];
  const advice = await (await fetch(way.skill)).text();
  steps.push(`forbidden without ${wanted.join(" ")}; advice at ${way.skill}`);

  await person(way.registration);
  const token = await way.token([...way.scopes, ...wanted].join(" "));
  steps.push("claimed by a person, who allows more");
  // The second round can use the objects that the first round created.
  const claimed = [
    ...(await callAll({ ...round, token })),
    ...(await callAll({ ...round, token })),
  ];
  return { steps, tools, alone, claimed, description, advice, said: memory.all };
}

type Rpc = (token: string, method: string, params?: Json) => Promise<Response>;

/** Creates a function that sends one MCP message. */
function remote(endpoint: string): Rpc {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return (token, method, params = {}) =>
    fetch(endpoint, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": REVISION,
        "mcp-method": method,
        ...(params.name !== undefined && { "mcp-name": String(params.name) }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
    });
}

async function resultOf(response: Response): Promise<Json> {
  const { result, error } = (await response.json()) as { result?: Json; error?: unknown };
  if (result === undefined) throw new Error(`${response.status}: ${JSON.stringify(error)}`);
  return result;
}

/**
 * The tools in calling order: first read-only, then writing, then destructive tools, each kind by
 * number of required arguments.
 */
async function listed(rpc: Rpc, token: string): Promise<readonly ListedTool[]> {
  const { tools } = await resultOf(await rpc(token, "tools/list"));
  const rank = ({ annotations = {}, inputSchema }: ListedTool) =>
    (annotations.readOnlyHint ? 0 : 100) +
    (annotations.destructiveHint ? 100 : 0) +
    (inputSchema.required?.length ?? 0);
  return (tools as readonly ListedTool[]).toSorted((one, other) => rank(one) - rank(other));
}

interface Round {
  readonly tools: readonly ListedTool[];
  readonly rpc: Rpc;
  readonly memory: Memory;
  readonly token: string;
}

/**
 * Calls every tool with all variants of its arguments, and then with the arguments that the tool's
 * errors suggest.
 */
async function callAll({ tools, memory, ...way }: Round): Promise<readonly WalkedCall[]> {
  const calls: WalkedCall[] = [];
  const call = async (tool: ListedTool, sent: Arguments, isAdvised = false) => {
    const { answer, ...came } = await called(tool, sent, way);
    const made = { tool: tool.name, sent, isAdvised, ...came };
    calls.push(made);
    memory.remember(answer);
    return made;
  };
  const insist = async (tool: ListedTool, sent: Arguments) => {
    const first = await call(tool, sent);
    if (first.outcome !== "refused") return first.outcome;
    for (const advised of advisedArguments(tool.inputSchema, first, memory)) {
      if ((await call(tool, advised, true)).outcome === "ok") break;
    }
    return first.outcome;
  };
  for (const tool of tools) {
    // No change of the arguments can make up for the missing scope.
    if ((await insist(tool, leastArguments(tool.inputSchema, memory))) === "forbidden") continue;
    for (const sent of moreArguments(tool.inputSchema, memory)) await insist(tool, sent);
  }
  return calls;
}

async function called(
  tool: ListedTool,
  sent: Arguments,
  { rpc, token }: Pick<Round, "rpc" | "token">,
) {
  conform(tool.inputSchema, sent, `arguments of ${tool.name}`);
  const response = await rpc(token, "tools/call", { name: tool.name, arguments: sent });
  return outcomeOf(response, tool);
}

/**
 * Classifies the response of a tool call.
 *
 * @throws {Error} When the response is a protocol error or does not match the output schema.
 */
async function outcomeOf(response: Response, tool: ListedTool) {
  const { isError, content, structuredContent } = await resultOf(response);
  const [{ text: words }] = content as [{ text: string }];
  const { code, claim } = (structuredContent ?? {}) as Readonly<Record<string, Json>>;
  if (isError === true && String(code) === "claim_required") {
    const scopes = String(claim?.scope).split(" ");
    return { outcome: "forbidden", words, scopes, answer: {} } as const;
  }
  if (isError === true) return { outcome: "refused", words, scopes: [], answer: {} } as const;
  conform(tool.outputSchema ?? {}, structuredContent, `answer of ${tool.name}`);
  if (!isDeepStrictEqual(JSON.parse(words), structuredContent)) {
    throw new Error(`the text of ${tool.name} says something else: ${words}`);
  }
  return { outcome: "ok", words: "", scopes: [], answer: structuredContent } as const;
}

function conform(schema: Schema, value: unknown, what: string): void {
  if (ajv.validate(schema, value)) return;
  throw new Error(`${what}: ${ajv.errorsText()}: ${JSON.stringify(value)}`);
}
