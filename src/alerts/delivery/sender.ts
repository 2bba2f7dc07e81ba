import type { Readable } from "node:stream";
import pkg from "../../../package.json" with { type: "json" };
import { lazy } from "../../lib/lazy.ts";
import type { GuardedAgentOptions } from "../../outbound/guarded-agent.ts";
import { OutboundError } from "../../outbound/guarded-fetch.ts";
import { neutralText } from "../../outbound/neutral-text.ts";
import { retryAfterMs } from "../../outbound/retry-after.ts";
import { urlFault } from "../../outbound/url-policy.ts";

/** How deliveries leave. */
export interface SenderOptions extends GuardedAgentOptions {
  /** `http:` or `https:` address of a proxy that all of them go through; it decides about addresses. */
  readonly proxy?: string | undefined;
  /** Longest time of one, in milliseconds. Default: 15 s. */
  readonly totalMs?: number;
  /** Longest wait for the body once the status is there, in milliseconds. Default: 2 s. */
  readonly bodyMs?: number;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: () => number;
}

/** What is sent. */
interface WebhookRequest {
  readonly url: string;
  /** Besides those that every delivery has. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

/** What a webhook answered. */
export interface WebhookResponse {
  /** HTTP status, of any kind: a redirect is not followed. */
  readonly status: number;
  /** What it asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Whole milliseconds to the end of the answer, or to where it was cut. */
  readonly latencyMs: number;
  /** First 1 kB of the body, as text that can be kept and shown. */
  readonly response: string;
}

/** Sends to addresses that strangers named. */
export interface Sender {
  /**
   * Makes one request.
   *
   * @throws {OutboundError} When no answer came, for whatever reason.
   */
  send(outgoing: WebhookRequest): Promise<WebhookResponse>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

const DEFAULTS = { totalMs: 15_000, bodyMs: 2_000 };

/** Bytes of an answer that are read. */
const RESPONSE_BYTES = 1024;

/** Interim answers (1xx) before the answer; an endless row of them would keep us busy. */
const MAX_INTERIM = 10;

const HEADERS = {
  "content-type": "application/json",
  "user-agent": `${pkg.name}/${pkg.version}`,
};

/**
 * Creates a sender. The status decides what became of a delivery: the body after it may be endless
 * or slow, or break off, since hardly any of it is read.
 */
export function createSender(options: SenderOptions): Sender {
  const { totalMs, bodyMs, now } = { ...DEFAULTS, ...options };
  const client = lazy(() => openClient(options));
  const ask = async ({ url, headers, body }: WebhookRequest, limit: AbortController) => {
    const fault = urlFault(url, options);
    if (fault !== undefined) throw new Error(fault);
    const { dispatcher, request } = await client.get();
    const startedAt = performance.now();
    const { signal } = limit;
    const onInfo = countdown(MAX_INTERIM, () =>
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
      response: textOf(start),
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

/** What sends is loaded only when something is to be sent. */
async function openClient({ proxy, ...options }: SenderOptions) {
  const { request } = await import("undici");
  const { createGuardedAgent, createProxiedAgent } = await import(
    "../../outbound/guarded-agent.ts"
  );
  const dispatcher =
    proxy === undefined ? createGuardedAgent(options) : createProxiedAgent(proxy, options);
  return { request, dispatcher };
}

/** Rejects when a signal is aborted; undici looks at it only once it is connected. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/** Calls back when it was called more often than `most`. */
function countdown(most: number, callback: () => void): () => void {
  let left = most;
  return () => {
    left -= 1;
    if (left < 0) callback();
  };
}

/** The first bytes of a body, or what came of them in time; the rest never leaves its host. */
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
    // It broke off, which changes nothing: the status is known.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, RESPONSE_BYTES);
}

/** A character that was cut is left out; what is compressed or no text at all looks odd. */
function textOf(bytes: Uint8Array): string {
  return neutralText(new TextDecoder().decode(bytes, { stream: true }));
}
