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

/** A tool as a server lists it. */
interface ListedTool {
  readonly name: string;
  readonly inputSchema: Schema;
  readonly outputSchema?: Schema;
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean };
}

/** A call and its result. */
export interface WalkedCall {
  readonly tool: string;
  readonly sent: Arguments;
  /** `refused`: by the tool, in words; `forbidden`: for lack of scopes that a person can grant. */
  readonly outcome: "ok" | "refused" | "forbidden";
  /** Whether the call followed the advice of a refusal. */
  readonly isAdvised: boolean;
  /** What a refusal says. */
  readonly words: string;
  /** Scopes that a refusal requires. */
  readonly scopes: readonly string[];
}

/** What a walk found. */
export interface Walk {
  /** Descriptions of the steps taken, in order. */
  readonly steps: readonly string[];
  readonly tools: readonly ListedTool[];
  /** What the agent could do by itself. */
  readonly alone: readonly WalkedCall[];
  /** Calls of the agent after a person had claimed it. */
  readonly claimed: readonly WalkedCall[];
  /** The description of the interface, as text. */
  readonly description: string;
  /** The prose on access that the metadata name. */
  readonly advice: string;
  /** Everything that answers said under a name. */
  readonly said: Memory["all"];
}

/** Who starts a walk. */
export interface WalkOptions {
  readonly baseUrl: string;
  /** Answers for the agent, once they have read the answer to its registration. */
  readonly person: (registration: Json) => Promise<unknown>;
}

const REVISION = "2026-07-28";

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

/** Knows standards (RFC 9727, 9728, 8414, 7591, 6749, 8707, MCP) and nothing of who is there. */
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
  // What one round makes, the next can ask for.
  const claimed = [
    ...(await callAll({ ...round, token })),
    ...(await callAll({ ...round, token })),
  ];
  return { steps, tools, alone, claimed, description, advice, said: memory.all };
}

type Rpc = (token: string, method: string, params?: Json) => Promise<Response>;

/** Sends one message of MCP. */
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

/** The tools, those that change nothing first, and of them those that ask for the least. */
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

/** Calls every tool in every way that its schema, and then its refusals, suggest. */
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
    // Whatever is sent, the scope is missing.
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

/** @throws {Error} When the answer is none that the standards know, or not what was announced. */
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
