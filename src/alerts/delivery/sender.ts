import type { Readable } from "node:stream";
import pkg from "../../../package.json" with { type: "json" };
import { lazy } from "../../lib/lazy.ts";
import type { GuardedAgentOptions } from "../../outbound/guarded-agent.ts";
import { OutboundError } from "../../outbound/guarded-fetch.ts";
import { neutralText } from "../../outbound/neutral-text.ts";
import { retryAfterMs } from "../../outbound/retry-after.ts";
import { urlFault } from "../../outbound/url-policy.ts";

/** How deliveries are sent. */
export interface SenderOptions extends GuardedAgentOptions {
  /** URL (`http:` or `https:`) of a proxy for all deliveries, which then decides which addresses are
   *  allowed. */
  readonly proxy?: string | undefined;
  /** Timeout of a request, in milliseconds. Default: 15 s. */
  readonly totalMs?: number;
  /** Timeout of the body after the status line, in milliseconds. Default: 2 s. */
  readonly bodyMs?: number;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: () => number;
}

/** A request to a webhook or a chat service. */
export interface SentRequest {
  readonly url: string;
  /** Added to the headers of every delivery. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

/** The answer of a webhook. */
export interface WebhookResponse {
  /** HTTP status; redirects are not followed. */
  readonly status: number;
  /** `Retry-After` in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Whole milliseconds to the end of the answer, or to where it was cut off. */
  readonly latencyMs: number;
  /** First 1 kB of the body, as text that is safe to store and show. */
  readonly body: string;
}

/** HTTP client for addresses named by callers, which are not trusted. */
export interface Sender {
  /**
   * Sends one request.
   *
   * @throws {OutboundError} When no answer came, for whatever reason.
   */
  send(outgoing: SentRequest): Promise<WebhookResponse>;
  /** Aborts running requests. */
  close(): Promise<void>;
}

const DEFAULTS = { totalMs: 15_000, bodyMs: 2_000 };

/** Bytes of the body that are read. */
const RESPONSE_BYTES = 1024;

/** Informational responses (1xx) that are accepted before the final one: an endless series would hold
 *  the connection open. */
const MAX_INFORMATIONAL = 10;

const HEADERS = {
  "content-type": "application/json",
  "user-agent": `${pkg.name}/${pkg.version}`,
};

/**
 * Creates a sender. The status alone decides whether a delivery succeeded: the body may be endless,
 * slow or incomplete, because only its first kilobyte is read.
 */
export function createSender(options: SenderOptions): Sender {
  const { totalMs, bodyMs, now } = { ...DEFAULTS, ...options };
  const client = lazy(() => openClient(options));
  const ask = async ({ url, headers, body }: SentRequest, limit: AbortController) => {
    const fault = urlFault(url, options);
    if (fault !== undefined) throw new Error(fault);
    const { dispatcher, request } = await client.get();
    const startedAt = performance.now();
    const { signal } = limit;
    const onInfo = countdown(MAX_INFORMATIONAL, () =>
      limit.abort(new Error("It does not come to the point.")),
    );
    const sent = { method: "POST", headers: { ...headers, ...HEADERS }, body } as const;
    const answer = await Promise.race([
      request(url, { ...sent, dispatcher, signal, onInfo }),
      aborted(signal),
    ]);
    const start = await startOf(answer.body, bodyMs);
    return {
      status: answer.statusCode,
      retryAfterMs: retryAfterMs(answer.headers["retry-after"], now()),
      latencyMs: Math.round(performance.now() - startedAt),
      body: textOf(start),
    };
  };
  return {
    async send(outgoing) {
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(new Error("It took too long.")), totalMs);
      try {
        return await ask(outgoing, limit);
      } catch (error) {
        throw new OutboundError(error);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => client.ifOpen(({ dispatcher }) => dispatcher.destroy()),
  };
}

/** Loads the HTTP client at the first delivery, so that a start without deliveries is faster. */
async function openClient({ proxy, ...options }: SenderOptions) {
  const { request } = await import("undici");
  const { createGuardedAgent, createProxiedAgent } = await import(
    "../../outbound/guarded-agent.ts"
  );
  const dispatcher =
    proxy === undefined ? createGuardedAgent(options) : createProxiedAgent(proxy, options);
  return { request, dispatcher };
}

/** Rejects when a signal is aborted; undici checks it only once it is connected. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/** Calls back after more than `most` calls. */
function countdown(most: number, callback: () => void): () => void {
  let left = most;
  return () => {
    left -= 1;
    if (left < 0) callback();
  };
}

/** The first bytes of a body, or those that arrived in time; the rest is not read. */
async function startOf(body: Readable, timeoutMs: number): Promise<Uint8Array> {
  const timer = setTimeout(() => body.destroy(), timeoutMs);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= RESPONSE_BYTES) break;
    }
  } catch {
    // An incomplete body changes nothing: the status is known.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, RESPONSE_BYTES);
}

/** A truncated last character is left out. Compressed or binary bodies are not decoded. */
function textOf(bytes: Uint8Array): string {
  return neutralText(new TextDecoder().decode(bytes, { stream: true }));
}
