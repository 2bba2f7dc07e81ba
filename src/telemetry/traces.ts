import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  propagation,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import pkg from "../../package.json" with { type: "json" };
import { Problem } from "../lib/problem.ts";
import type { AnsweredRequest } from "./meters.ts";

/** The tracer; it does nothing unless the operator loads an OpenTelemetry SDK with `--import`. */
const tracer = trace.getTracer(pkg.name, pkg.version);

/** Name and attributes of a span. */
interface SpanOf {
  /** Name of the span. Names must have few distinct values, so a name must not contain ids. */
  readonly name: string;
  readonly attributes?: Attributes;
}

/** Work that is measured by a span. */
type Work<T> = (span: Span) => Promise<T>;

/** Traces internal work of this process. */
export const traceWork = <T>(of: SpanOf, work: Work<T>): Promise<T> =>
  inSpan(of, SpanKind.INTERNAL, work);

/** Traces a request to another service. The trace context is not propagated to that service. */
export const traceRequest = <T>(of: SpanOf, work: Work<T>): Promise<T> =>
  inSpan(of, SpanKind.CLIENT, work);

async function inSpan<T>({ name, attributes }: SpanOf, kind: SpanKind, work: Work<T>): Promise<T> {
  const carrier = context.active().getValue(CARRIER) as SpanContext | undefined;
  const links = carrier ? [{ context: carrier }] : [];
  const span = tracer.startSpan(name, { ...(attributes && { attributes }), kind, links });
  try {
    return await context.with(contextOf(span, context.active()), work, undefined, span);
  } catch (error) {
    markSpanFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/**
 * The context with the span. Without an SDK the span is invalid, and the context is returned
 * unchanged, which costs nothing.
 */
function contextOf(span: Span, parent: Context): Context {
  return trace.isSpanContextValid(span.spanContext()) ? trace.setSpan(parent, span) : parent;
}

/**
 * Marks a span as failed. Error messages are left out, since they may contain secrets.
 *
 * @param error The error, or an HTTP status as text.
 */
export function markSpanFailed(span: Span, error: unknown): void {
  span.setAttribute("error.type", errorType(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function errorType(error: unknown): string {
  if (typeof error === "string") return error;
  if (error instanceof Problem) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

/**
 * Starts the span of a request.
 *
 * @param headers May contain a trace context (W3C Trace Context).
 * @returns The span, and the context in which to handle the request.
 */
export function startRequestSpan(
  method: string,
  headers: TraceCarrier,
): { span: Span; within: Context } {
  const parent = parentContext(headers);
  const attributes = { "http.request.method": method };
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
  return { span, within: contextOf(span, parent) };
}

/** Ends the span of a request. One that no SDK records is left alone. */
export function endRequestSpan(
  span: Span,
  { method, route }: AnsweredRequest,
  statusCode: number,
): void {
  if (!span.isRecording()) return;
  span.updateName(`${method} ${route}`);
  span.setAttribute("http.route", route);
  span.setAttribute("http.response.status_code", statusCode);
  if (statusCode >= 500) markSpanFailed(span, String(statusCode));
  span.end();
}

/** Runs a handler in a given trace context. */
export const runInTraceContext = <T>(chosen: Context, handle: () => T): T =>
  context.with(chosen, handle);

/**
 * Context key of the HTTP request's span, set while an MCP message with its own trace context is
 * handled.
 */
const CARRIER = createContextKey("carrier");

/**
 * Handles an MCP message in the trace context of its `params._meta` (SEP-414), if it has one. The
 * spans of the message are then linked to the span of the HTTP request.
 */
export function runInTraceOf<T>(message: unknown, handle: () => T): T {
  const meta = (message as Message | null | undefined)?.params?._meta;
  if (typeof meta?.traceparent !== "string") return handle();
  const carrier = trace.getSpanContext(context.active());
  return context.with(parentContext(meta).setValue(CARRIER, carrier), handle);
}

/** An object that may contain a trace context. */
type TraceCarrier = Readonly<Record<string, unknown>>;

interface Message {
  readonly params?: { readonly _meta?: TraceCarrier };
}

/** The parent context from the caller, who can choose the parent span; baggage is ignored. */
function parentContext({ traceparent, tracestate }: TraceCarrier): Context {
  const active = context.active();
  return traceparent === undefined
    ? active
    : propagation.extract(active, { traceparent, tracestate });
}
