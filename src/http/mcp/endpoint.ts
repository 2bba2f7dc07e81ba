import { AsyncLocalStorage } from "node:async_hooks";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, type JSONRPCRequest } from "@modelcontextprotocol/server";
import { tools } from "../../../tools/index.ts";
import { calledFrom } from "../../auth/auditor.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Scope } from "../../auth/scopes.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { Problem } from "../../problem.ts";
import { withinTraceOf } from "../../telemetry/traces.ts";
import type { ProtectedResource } from "../authorize.ts";
import type { Streams } from "../open-streams.ts";
import type { RequestContext } from "../request-context.ts";
import type { Handler } from "../route-table.ts";
import { acceptsBoth, BOTH_FORMS, createFastPath, usualRequest } from "./fast-path.ts";
import { readMessage, requireModest } from "./message-body.ts";
import { signalsListenedTo } from "./resources.ts";
import {
  authInfoOf,
  changing,
  createServerFactory,
  type McpServerOptions,
  ownNames,
} from "./server-factory.ts";

/** A credential may have ended while a body took longer than this to arrive, in milliseconds. */
const SLOW_BODY_MS = 500;

/** What the MCP endpoint is made from. */
export interface McpOptions extends McpServerOptions {
  readonly mcp: ProtectedResource;
  /** Answers that stay open. */
  readonly streams: Streams;
  /** Listens for signals that have changed. @returns Stops listening. */
  readonly onSignal: (listener: (symbol: string) => void) => () => void;
  /** Told what the SDK reports, mostly why it refused a message; for debugging. */
  readonly onReport: (error: unknown) => void;
  /** Whether usual requests are answered without the SDK's own handler, which is slow. */
  readonly mcpFastPath: boolean;
}

type NewServer = ReturnType<typeof createServerFactory>;

/** A message of a caller who may send it. */
interface Received {
  readonly caller: Caller;
  readonly message: unknown;
}

type Answer = (context: RequestContext, received: Received) => Promise<void>;

/** The MCP endpoint: every protocol revision from 2024-11-05 to 2026-07-28, without sessions. Usual
 *  requests are answered by two servers that stay, unless that is turned off. */
export function createEndpoint(options: McpOptions): Handler {
  const { baseUrl, mcp, mcpFastPath, onReport } = options;
  const newServer = createServerFactory(options);
  const answerBySdk = sdkAnswerer(newServer, options);
  const answerUsual = mcpFastPath ? createFastPath({ newServer, onReport }) : undefined;
  const requireOwnOrigin = ownOriginGuard(baseUrl);
  return async (context) => {
    const { req, res } = context;
    requireOwnOrigin(req.headers.origin);
    const startedAt = performance.now();
    const caller = await mcp.authorize(context);
    const message = await readMessage(context);
    requireModest(message);
    const usual = usualRequest({ headers: req.headers, body: message }, ownNames);
    const isRead = usual !== undefined && !isChange(usual.message);
    const isSlow = performance.now() - startedAt > SLOW_BODY_MS;
    if (!isRead || isSlow) await mcp.requireStillValid(context);
    if (Array.isArray(message)) await mcp.countFurther(context, caller, message.length - 1);
    mcp.requireScopes(caller, scopesOf(message));
    await withinTraceOf(message, async () => {
      const answer = () => usual && answerUsual?.(usual, authInfoOf(caller));
      // The audit records the address of whoever changes something.
      const answering = isRead ? answer() : calledFrom(context.ip, answer);
      if (answering === undefined) await answerBySdk(context, { caller, message });
      else (await answering)(res);
    });
  };
}

/** Whether a request calls a tool that changes something. */
const isChange = ({ params }: JSONRPCRequest): boolean => changing.has(params?.name);

/** Hands messages to the SDK, which reports refusals and failures alike: the status tells. */
function sdkAnswerer(newServer: NewServer, options: McpOptions): Answer {
  const { onError, onReport } = options;
  const reports = new AsyncLocalStorage<unknown[]>();
  const onerror = (error: unknown) => {
    reports.getStore()?.push(error);
    onReport(error);
  };
  const newHandler = () => createMcpHandler(newServer, { onerror });
  const common = newHandler();
  return async (context, { caller, message }) => {
    const { req, res, ip } = context;
    // The SDK accepts nothing but both names.
    if (acceptsBoth(req.headers)) req.headers.accept = BOTH_FORMS;
    const reported: unknown[] = [];
    res.once("finish", () => {
      if (res.statusCode >= 500) reported.forEach(onError);
    });
    const handler = isListening(message) ? newHandler() : common;
    if (handler !== common) stayOpen(context, { handler, caller, message }, options);
    const handle = toNodeHandler(handler, { onerror });
    const request = Object.assign(req, { auth: authInfoOf(caller) }) as Parameters<
      typeof handle
    >[0];
    await reports.run(reported, () => calledFrom(ip, () => handle(request, res, message)));
  };
}

/** A message that subscribes to changes, and the handler of the SDK that answers it. */
interface Subscription extends Received {
  /** For this answer alone, so that it can be ended in good order when the others go on. */
  readonly handler: ReturnType<typeof createMcpHandler>;
}

/** Keeps an answer open, and notifies it of the signals that the message names. */
function stayOpen(
  request: RequestContext,
  { handler, caller, message }: Subscription,
  options: McpOptions,
): void {
  const { res } = request;
  const { context, streams, onSignal } = options;
  const wanted = signalsListenedTo(message, context);
  if (res.destroyed) return;
  streams.hold(request, caller, () => void handler.close());
  const stopListening = onSignal((symbol) =>
    wanted.get(symbol)?.forEach(handler.notify.resourceUpdated),
  );
  res.once("close", stopListening);
}

/**
 * A browser names the page that calls. While the service is on this machine, only pages from this
 * machine may call it: the host name of another site could resolve to here (DNS rebinding, MCP
 * 2026-07-28). Elsewhere any page may, since no cookie counts.
 *
 * @returns Throws the problem `forbidden_origin`.
 */
function ownOriginGuard(baseUrl: string): (origin: string | undefined) => void {
  const isLocal = isLoopbackHost(new URL(baseUrl).hostname);
  const isFromHere = (origin: string) => isLoopbackHost(URL.parse(origin)?.hostname ?? "");
  return (origin) => {
    if (!isLocal || origin === undefined || isFromHere(origin)) return;
    throw new Problem("forbidden_origin", {
      detail:
        "While the service is on this machine, its MCP endpoint is open to pages from here alone.",
      next: "Call it from a program, or from a page of this service.",
    });
  };
}

/** Whether a message asks for an answer that stays open (MCP 2026-07-28, subscriptions). */
const isListening = (message: unknown): boolean =>
  (message as { readonly method?: unknown } | null | undefined)?.method === "subscriptions/listen";

/** Operations on resources and prompts: all of them are about signals. */
const ON_SIGNALS: ReadonlySet<unknown> = new Set([
  "resources/read",
  "prompts/get",
  "subscriptions/listen",
  "completion/complete",
]);

const OF_SIGNALS: readonly Scope[] = ["signals:read"];
const NONE: readonly Scope[] = [];

const scopesOfTools: ReadonlyMap<unknown, readonly Scope[]> = new Map(
  tools.map(({ name, scopes }) => [name, scopes]),
);

/** The scopes that a message of MCP, or the messages of a batch, need together. */
function scopesOf(body: unknown): readonly Scope[] {
  return Array.isArray(body) ? [...new Set(body.flatMap(scopesOfOne))] : scopesOfOne(body);
}

/** Nothing but the method and the name decides; whatever else is wrong may not make it need less. */
function scopesOfOne(message: unknown): readonly Scope[] {
  const { method, params } = membersOf(message);
  if (ON_SIGNALS.has(method)) return OF_SIGNALS;
  if (method !== "tools/call") return NONE;
  return scopesOfTools.get(membersOf(params).name) ?? NONE;
}

/** Of what is no object, none. */
const membersOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value);
