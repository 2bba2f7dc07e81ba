import { AsyncLocalStorage } from "node:async_hooks";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, type JSONRPCRequest } from "@modelcontextprotocol/server";
import { tools } from "../../../tools/index.ts";
import { withCallerAddress } from "../../access/auditor.ts";
import type { Caller } from "../../access/caller.ts";
import type { Scope } from "../../access/scopes.ts";
import { Problem } from "../../lib/problem.ts";
import { isLoopbackHost } from "../../outbound/loopback.ts";
import { runInTraceOf } from "../../telemetry/traces.ts";
import type { OpenStreams } from "../open-streams.ts";
import type { ProtectedResource } from "../protected-resource.ts";
import type { RequestContext } from "../request-context.ts";
import type { Handler } from "../route-table.ts";
import {
  acceptsMcpMediaTypes,
  createFastPath,
  fastPathRequestOf,
  MCP_ACCEPT_HEADER,
} from "./fast-path.ts";
import { checkComplexity, createMessageReader } from "./message-body.ts";
import { APP_URI } from "./protocol.ts";
import { subscribedSymbols } from "./resources.ts";
import {
  authInfoOf,
  createServerFactory,
  fastPathTargetNames,
  type McpServerOptions,
  mutatingToolNames,
} from "./server-factory.ts";

/**
 * If authorization and reading the body take longer than this, in milliseconds, the credential is
 * checked again even for a read-only request.
 */
const SLOW_BODY_MS = 500;

/** Dependencies of the MCP endpoint. */
export interface McpEndpointOptions extends McpServerOptions {
  readonly mcp: ProtectedResource;
  /** Registry of open streaming responses. */
  readonly streams: OpenStreams;
  /** Registers a listener for signal changes. @returns A function that removes it. */
  readonly onSignal: (listener: (symbol: string) => void) => () => void;
  /**
   * Called with the errors that the SDK reports, for debugging. Most of them give the reason why it
   * rejected a message.
   */
  readonly onReport: (error: unknown) => void;
}

/** A message from an authorized caller. */
interface ReceivedMessage {
  readonly caller: Caller;
  readonly message: unknown;
}

type AnswerMessage = (context: RequestContext, received: ReceivedMessage) => Promise<void>;

/**
 * Creates the MCP endpoint for every protocol revision from 2024-11-05 to 2026-07-28, without
 * sessions. Two long-lived servers answer ordinary requests.
 */
export function createMcpEndpoint(options: McpEndpointOptions): Handler {
  const { baseUrl, mcp, onReport } = options;
  const newServer = createServerFactory(options);
  const answerBySdk = createSdkHandler(newServer, options);
  const fastPath = createFastPath({ newServer, onReport });
  const requireOwnOrigin = createOriginGuard(baseUrl);
  const readMessage = createMessageReader();
  return async (context) => {
    const { req, res } = context;
    requireOwnOrigin(req.headers.origin);
    const startedAt = performance.now();
    const caller = await mcp.authorize(context);
    const message = await readMessage(context);
    checkComplexity(message);
    const plain = fastPathRequestOf({ headers: req.headers, body: message }, fastPathTargetNames);
    const isRead = plain !== undefined && !isChange(plain.message);
    const isSlow = performance.now() - startedAt > SLOW_BODY_MS;
    if (!isRead || isSlow) await mcp.requireStillValid(context);
    if (Array.isArray(message)) await mcp.countAdditionalCalls(context, caller, message.length - 1);
    mcp.requireScopes(caller, requiredScopes(message, mcp, caller));
    await runInTraceOf(message, async () => {
      const answer = () => plain && fastPath(plain, authInfoOf(caller, context.ip));
      // For changes, the audit log records the client's address.
      const answering = isRead ? answer() : withCallerAddress(context.ip, answer);
      if (answering === undefined) await answerBySdk(context, { caller, message });
      else (await answering)(res);
    });
  };
}

/** Whether a request calls a tool that changes data. */
const isChange = ({ params }: JSONRPCRequest): boolean => mutatingToolNames.has(params?.name);

/** Creates the function that passes messages to the SDK. The SDK reports both rejections and
 *  failures through one callback; the HTTP status distinguishes them. */
function createSdkHandler(
  newServer: ReturnType<typeof createServerFactory>,
  options: McpEndpointOptions,
): AnswerMessage {
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
    // The SDK requires `Accept` to list both media types by name, so wildcards are replaced.
    if (acceptsMcpMediaTypes(req.headers)) req.headers.accept = MCP_ACCEPT_HEADER;
    const reported: unknown[] = [];
    res.once("finish", () => {
      if (res.statusCode >= 500) reported.forEach(onError);
    });
    const handler = isSubscription(message) ? newHandler() : common;
    if (handler !== common) trackSubscription(context, { handler, caller, message }, options);
    const handle = toNodeHandler(handler, { onerror });
    const request = Object.assign(req, { auth: authInfoOf(caller, ip) }) as Parameters<
      typeof handle
    >[0];
    await reports.run(reported, () => withCallerAddress(ip, () => handle(request, res, message)));
  };
}

/** A message that subscribes to changes, and the SDK handler that answers it. */
interface Subscription extends ReceivedMessage {
  /** Each subscription has its own handler, so that closing it does not affect other responses. */
  readonly handler: ReturnType<typeof createMcpHandler>;
}

/**
 * Tracks the open response of a subscription, and notifies the client when a signal to which it
 * subscribed changes.
 */
function trackSubscription(
  request: RequestContext,
  { handler, caller, message }: Subscription,
  options: McpEndpointOptions,
): void {
  const { res } = request;
  const { context, streams, onSignal } = options;
  const wanted = subscribedSymbols(message, context);
  if (res.destroyed) return;
  streams.track(request, caller, () => void handler.close());
  const stopListening = onSignal((symbol) =>
    wanted.get(symbol)?.forEach(handler.notify.resourceUpdated),
  );
  res.once("close", stopListening);
}

/**
 * Creates the check of `Origin`. While the service runs on localhost, only pages of localhost may
 * call the endpoint, because the host name of another site could resolve to it (DNS rebinding, MCP
 * 2026-07-28). On any other host, pages of all origins may call it, because it does not
 * authenticate with cookies.
 *
 * @returns A check that throws the problem `forbidden_origin`.
 */
function createOriginGuard(baseUrl: string): (origin: string | undefined) => void {
  const isLocal = isLoopbackHost(new URL(baseUrl).hostname);
  const isLocalOrigin = (origin: string) => isLoopbackHost(URL.parse(origin)?.hostname ?? "");
  return (origin) => {
    if (!isLocal || origin === undefined || isLocalOrigin(origin)) return;
    throw new Problem("forbidden_origin", {
      detail:
        "While BASE_URL is a loopback address, the MCP endpoint accepts only pages of a loopback origin.",
      next: "Call it from a program, or from a page of this service.",
    });
  };
}

/** Whether a message opens a subscription stream (MCP 2026-07-28, subscriptions). */
const isSubscription = (message: unknown): boolean =>
  (message as { readonly method?: unknown } | null | undefined)?.method === "subscriptions/listen";

/** Methods that require the scope for signals; reading the resource of the app is exempt. */
const SIGNAL_METHODS: ReadonlySet<unknown> = new Set([
  "resources/read",
  "prompts/get",
  "subscriptions/listen",
  "completion/complete",
]);

const SIGNAL_SCOPES: readonly Scope[] = ["signals:read"];
const NO_SCOPES: readonly Scope[] = [];

const scopesOfTools: ReadonlyMap<unknown, readonly Scope[]> = new Map(
  tools.map(({ name, scopes }) => [name, scopes]),
);

/**
 * The scopes that a caller must have for a message, or for all messages of a batch. A tool call by
 * an agent that must be claimed first requires no scope here, because its result says how to claim
 * the agent.
 */
function requiredScopes(body: unknown, mcp: ProtectedResource, caller: Caller): readonly Scope[] {
  if (Array.isArray(body)) {
    return [...new Set(body.flatMap((message) => requiredScopes(message, mcp, caller)))];
  }
  const scopes = scopesOf(body);
  return isToolCall(body) && mcp.isClaimNeeded(caller, scopes) ? NO_SCOPES : scopes;
}

const isToolCall = (message: unknown): boolean => membersOf(message).method === "tools/call";

/**
 * The scopes that one message requires. They depend only on the method and the target, so that an
 * error elsewhere in the message does not lower the requirement.
 */
function scopesOf(message: unknown): readonly Scope[] {
  const { method, params } = membersOf(message);
  if (method === "resources/read" && membersOf(params).uri === APP_URI) return NO_SCOPES;
  if (SIGNAL_METHODS.has(method)) return SIGNAL_SCOPES;
  if (!isToolCall(message)) return NO_SCOPES;
  return scopesOfTools.get(membersOf(params).name) ?? NO_SCOPES;
}

/** The members of an object; empty for any other value. */
const membersOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value);
