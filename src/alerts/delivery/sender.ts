import type { Readable } from "node:stream";
import pkg from "../../../package.json" with { type: "json" };
import { lazyResource } from "../../lib/lazy.ts";
import type { GuardedDispatcherOptions } from "../../outbound/guarded-dispatcher.ts";
import { OutboundError } from "../../outbound/guarded-fetch.ts";
import { neutralizeText } from "../../outbound/neutral-text.ts";
import { retryAfterMs } from "../../outbound/retry-after.ts";
import { urlFault } from "../../outbound/url-policy.ts";

/** Options of `createWebhookSender`. */
export interface WebhookSenderOptions extends GuardedDispatcherOptions {
  /**
   * URL (`http:` or `https:`) of a proxy for all deliveries. The proxy then decides which addresses
   * are allowed.
   */
  readonly proxy?: string | undefined;
  /** Timeout of a request, in milliseconds. Default: 15 s. */
  readonly totalMs?: number;
  /** Timeout for reading the response body after the status line, in milliseconds. Default: 2 s. */
  readonly bodyMs?: number;
  /** The wall clock, in milliseconds since the epoch. */
  readonly now: () => number;
}

/** A request to a webhook or a chat service. */
export interface WebhookRequest {
  readonly url: string;
  /** Headers to send in addition to those that every delivery has. */
  readonly headers: Readonly<Record<string, string>>;
  /** Request body, as JSON. */
  readonly body: string;
}

/** The response of a webhook or chat service. */
export interface WebhookResponse {
  /** HTTP status; redirects are not followed. */
  readonly status: number;
  /** `Retry-After`, converted to milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Whole milliseconds to the end of the response, or to the point where reading stopped. */
  readonly latencyMs: number;
  /** First 1 kB of the response body, as text that is safe to store and show. */
  readonly body: string;
}

/** HTTP client for untrusted URLs, which callers provide. */
export interface WebhookSender {
  /**
   * Sends one request.
   *
   * @throws {OutboundError} When there is no response, for whatever reason.
   */
  send(outgoing: WebhookRequest): Promise<WebhookResponse>;
  /** Aborts running requests. */
  close(): Promise<void>;
}

const DEFAULTS = { totalMs: 15_000, bodyMs: 2_000 };

/** Number of bytes of the response body that are read. */
const RESPONSE_BYTES = 1024;

/**
 * Maximum number of informational responses (1xx) before the final one. Without a limit, an endless
 * series could hold the connection open.
 */
const MAX_INFORMATIONAL = 10;

const HEADERS = {
  "content-type": "application/json",
  "user-agent": `${pkg.name}/${pkg.version}`,
};

/**
 * Creates a sender. A delivery succeeds or fails by its HTTP status alone: the body may be endless,
 * slow or incomplete, and only its first kilobyte is read.
 */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { totalMs, bodyMs, now } = { ...DEFAULTS, ...options };
  const client = lazyResource(() => openClient(options));
  const ask = async ({ url, headers, body }: WebhookRequest, limit: AbortController) => {
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

/** Loads the HTTP client at the first delivery, so that the process starts faster. */
async function openClient({ proxy, ...options }: WebhookSenderOptions) {
  const { request } = await import("undici");
  const { createGuardedDispatcher, createProxiedDispatcher } = await import(
    "../../outbound/guarded-dispatcher.ts"
  );
  const dispatcher =
    proxy === undefined
      ? createGuardedDispatcher(options)
      : createProxiedDispatcher(proxy, options);
  return { request, dispatcher };
}

/**
 * A promise that rejects when the signal is aborted. It is needed because undici checks the signal
 * only after the connection is established.
 */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/**
 * Creates a function that does nothing at its first `most` calls, and calls `callback` at every
 * further call.
 */
function countdown(most: number, callback: () => void): () => void {
  let left = most;
  return () => {
    left -= 1;
    if (left < 0) callback();
  };
}

/**
 * Reads the beginning of a body: its first bytes, or fewer if the timeout comes first. The rest is
 * not read.
 */
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
    // An incomplete body does not matter, because the status is already known.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, RESPONSE_BYTES);
}

/**
 * Decodes bytes as UTF-8 text. If the last character is truncated, it is dropped. Compressed or
 * binary bodies are not decoded further.
 */
function textOf(bytes: Uint8Array): string {
  return neutralizeText(new TextDecoder().decode(bytes, { stream: true }));
}
