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
import { Problem } from "../problem.ts";

/** Without an SDK, which whoever runs the service may load with `--import`, spans are nothing. */
const tracer = trace.getTracer(pkg.name, pkg.version);

/** What a span is about. */
interface SpanOf {
  /** Of few: no ids in it. */
  readonly name: string;
  readonly attributes?: Attributes;
}

/** Work that a span lasts for. */
type Work<T> = (span: Span) => Promise<T>;

/** Work of this process. */
export const traced = <T>(of: SpanOf, work: Work<T>): Promise<T> =>
  inSpan(of, SpanKind.INTERNAL, work);

/** A request to another service. It takes along no trace: what goes on in here is not for others. */
export const tracedRequest = <T>(of: SpanOf, work: Work<T>): Promise<T> =>
  inSpan(of, SpanKind.CLIENT, work);

async function inSpan<T>({ name, attributes }: SpanOf, kind: SpanKind, work: Work<T>): Promise<T> {
  const carrier = context.active().getValue(CARRIER) as SpanContext | undefined;
  const links = carrier ? [{ context: carrier }] : [];
  const span = tracer.startSpan(name, { ...(attributes && { attributes }), kind, links });
  try {
    return await context.with(contextOf(span, context.active()), work, undefined, span);
  } catch (error) {
    fail(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Without an SDK there is no span to be found, and so nothing to be paid for. */
function contextOf(span: Span, parent: Context): Context {
  return trace.isSpanContextValid(span.spanContext()) ? trace.setSpan(parent, span) : parent;
}

/** Says that what a span is about has failed. Messages stay out of it: they may tell secrets.
 *  @param error What was thrown, or an HTTP status as text. */
export function fail(span: Span, error: unknown): void {
  span.setAttribute("error.type", errorType(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function errorType(error: unknown): string {
  if (typeof error === "string") return error;
  if (error instanceof Problem) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

/** Begins the span of a request. @param headers May name the trace that it belongs to (W3C Trace
 *  Context). @returns The span, and the context in which the request is to be handled. */
export function startRequest(method: string, headers: Named): { span: Span; within: Context } {
  const parent = parentNamedBy(headers);
  const attributes = { "http.request.method": method };
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
  return { span, within: contextOf(span, parent) };
}

/** Handles something within a context. */
export const within = <T>(chosen: Context, handle: () => T): T => context.with(chosen, handle);

/** Under which the trace is found of the request that brought a message of another trace. */
const CARRIER = createContextKey("carrier");

/**
 * Handles an MCP message in the trace that it names itself (`params._meta`, SEP-414), if it does. Its
 * spans are then linked to the request that brought it.
 */
export function withinTraceOf<T>(message: unknown, handle: () => T): T {
  const meta = (message as Message | null | undefined)?.params?._meta;
  if (typeof meta?.traceparent !== "string") return handle();
  const carrier = trace.getSpanContext(context.active());
  return context.with(parentNamedBy(meta).setValue(CARRIER, carrier), handle);
}

/** Where a trace may be named. */
type Named = Readonly<Record<string, unknown>>;

interface Message {
  readonly params?: { readonly _meta?: Named };
}

/** Only the place in a trace is taken from strangers, not the baggage that comes with it. */
function parentNamedBy({ traceparent, tracestate }: Named): Context {
  const active = context.active();
  return traceparent === undefined
    ? active
    : propagation.extract(active, { traceparent, tracestate });
}
