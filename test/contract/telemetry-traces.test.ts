import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { beforeEach, describe, expect, it } from "vitest";
import { measuredSender } from "../../src/alerts/delivery/measured-sender.ts";
import { tracedProviderRequests } from "../../src/ingest/traced-requests.ts";
import { NO_METERS } from "../../src/telemetry/meters.ts";
import { getWith, newToken, postJson } from "../support/agent.ts";
import { startReceiver } from "../support/receivers.ts";
import { startTestService } from "../support/test-service.ts";

import { loopbackSender } from "../support/webhook-alerts.ts";

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;
const OTHER = "0af7651916cd43dd8448eb211c80319c";

const { base } = await startTestService();
const token = await newToken(base);
beforeEach(() => exporter.reset());

const named = (name: string): ReadableSpan => {
  const found = exporter.getFinishedSpans().find((span) => span.name === name);
  if (found === undefined) expect.fail(`no span ${name}`);
  return found;
};

/** Waits for a span, since a request's span ends only after the caller has the answer. */
async function ended(name: string): Promise<ReadableSpan> {
  await expect.poll(() => exporter.getFinishedSpans().map((span) => span.name)).toContain(name);
  return named(name);
}

describe("a request", () => {
  it("becomes a server span in the trace of its traceparent header, with child spans", async () => {
    await fetch(`${base}/api/signals?symbol=ALDER.SIM`, {
      headers: { authorization: `Bearer ${token}`, traceparent: TRACEPARENT },
    });
    const request = await ended("GET /api/signals");
    expect(request.kind).toBe(SpanKind.SERVER);
    expect(request.spanContext().traceId).toBe(TRACE);
    expect(request.parentSpanContext?.spanId).toBe(PARENT);
    expect(request.attributes).toEqual({
      "http.request.method": "GET",
      "http.route": "/api/signals",
      "http.response.status_code": 200,
    });
    const tool = named("execute_tool get_signal");
    expect(tool.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
    expect(tool.attributes).toMatchObject({ "gen_ai.tool.name": "get_signal" });
  });

  it("starts a new trace when its traceparent header is invalid", async () => {
    await fetch(`${base}/api/health`, { headers: { traceparent: "00-zz-zz-01" } });
    const request = await ended("GET /api/health");
    expect(request.parentSpanContext).toBeUndefined();
  });

  it("has its commits as child spans", async () => {
    await newToken(base);
    const request = await ended("POST /oauth/register");
    const commits = exporter.getFinishedSpans().filter(({ name }) => name === "store commit");
    const traceOf = (span: ReadableSpan) => span.spanContext().traceId;
    expect(commits.map(traceOf)).toContain(traceOf(request));
  });

  it("becomes a failed span when it is answered with 5xx, but not for errors of the caller", async () => {
    await getWith("wrong", `${base}/api/signals`);
    const refused = await ended("GET /api/signals");
    expect(refused.status.code).toBe(SpanStatusCode.UNSET);
  });

  it("records no input or output in its span", async () => {
    await fetch(`${base}/api/signals?symbol=SECRET.SIM`, {
      headers: { authorization: `Bearer ${token}`, baggage: "key=secret" },
    });
    await ended("GET /api/signals");
    const told = JSON.stringify(
      exporter.getFinishedSpans().map(({ name, attributes, events }) => [name, attributes, events]),
    );
    expect(told).not.toMatch(/secret/i);
    expect(told).not.toContain(token);
  });
});

describe("an MCP message", () => {
  const call = (meta: object, traceparent?: string) =>
    postJson(
      `${base}/mcp`,
      {
        ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
        params: {
          ...{ name: "get_signal", arguments: { symbol: "ALDER.SIM" } },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
            ...meta,
          },
        },
      },
      {
        authorization: `Bearer ${token}`,
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "get_signal",
        ...(traceparent && { traceparent }),
      },
    );

  it("is handled in the trace of its own traceparent, with a link to the HTTP request's span", async () => {
    const carried = `00-${OTHER}-b7ad6b7169203331-01`;
    const answer = await call({ traceparent: TRACEPARENT, tracestate: "a=b" }, carried);
    expect(answer.status).toBe(200);
    const request = await ended("POST /mcp");
    expect(request.spanContext().traceId).toBe(OTHER);
    const tool = named("execute_tool get_signal");
    expect(tool.spanContext().traceId).toBe(TRACE);
    expect(tool.parentSpanContext?.spanId).toBe(PARENT);
    expect(tool.links.map((link) => link.context.spanId)).toEqual([request.spanContext().spanId]);
  });

  it.each([{}, { traceparent: 7 }, { traceparent: "nonsense" }])(
    "with the invalid traceparent %j is handled in the trace of its HTTP request",
    async (meta) => {
      expect((await call(meta)).status).toBe(200);
      const request = await ended("POST /mcp");
      const tool = named("execute_tool get_signal");
      expect(tool.spanContext().traceId).toBe(request.spanContext().traceId);
    },
  );
});

describe("an outgoing request", () => {
  it("becomes a client span, and sends no traceparent header to a webhook", async () => {
    const receiver = await startReceiver({ behavior: 500 });
    const sender = measuredSender(loopbackSender(), NO_METERS);
    await sender.send({ url: `${receiver.url}/hooks/secret`, headers: {}, body: "{}" });
    await sender.close();
    const attempt = named("POST webhook");
    expect(attempt.kind).toBe(SpanKind.CLIENT);
    expect(attempt.attributes).toEqual({
      ...{ "http.request.method": "POST", "server.address": "127.0.0.1" },
      ...{ "http.response.status_code": 500, "error.type": "500" },
    });
    expect(attempt.status.code).toBe(SpanStatusCode.ERROR);
    expect(receiver.received[0]?.headers).not.toHaveProperty("traceparent");
    await receiver.close();
  });

  it("becomes a failed span with the error but without the path, which may contain a key", async () => {
    const ask = tracedProviderRequests("one", () => Promise.reject(new TypeError("key=secret")));
    await expect(ask({ path: "/?key=secret" } as Parameters<typeof ask>[0])).rejects.toThrow();
    const { attributes, events, status } = named("GET one");
    expect(attributes).toMatchObject({ "peer.service": "one", "error.type": "TypeError" });
    expect(JSON.stringify([attributes, events, status])).not.toContain("secret");
  });
});
