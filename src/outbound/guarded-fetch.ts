import type { BodyInit } from "undici";
import { lazyResource } from "../lib/lazy.ts";
import type { GuardedDispatcherOptions } from "./guarded-dispatcher.ts";
import { urlFault } from "./url-policy.ts";
import { readWholeBody } from "./whole-body.ts";

/** Options of `createGuardedFetch`. */
export interface GuardedFetchOptions extends GuardedDispatcherOptions {
  /** Maximum body size after decompression, in bytes. Default: 64 KiB. */
  readonly maxBytes?: number;
  /** Timeout until the complete response has arrived, in milliseconds. Default: 15 s. */
  readonly totalMs?: number;
}

/**
 * Fetches URLs that callers provide, with protection against server-side request forgery (SSRF).
 */
interface GuardedFetch {
  /**
   * Like `fetch`, except that it resolves only with the complete body, never follows redirects
   * (`redirect: "manual"` returns them, other modes fail) and ignores the `dispatcher` option.
   *
   * @throws {OutboundError} For every failure.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Cancels requests in progress. */
  close(): Promise<void>;
}

/**
 * The error for a rejected URL or a failed request. Its message is always the same, because details
 * would tell the caller about the operator's network. The `cause` contains the reason, for the log.
 */
export class OutboundError extends Error {
  override readonly name = "OutboundError";

  constructor(cause: unknown) {
    super("The address could not be fetched.", { cause });
  }
}

/** Default of `maxBytes`, in bytes. */
const MAX_BYTES = 64 * 1024;

/** Default of `totalMs`, in milliseconds. */
const TOTAL_MS = 15_000;

/** Maximum number of connections to one origin. */
const MAX_CONNECTIONS = 4;

/**
 * Creates a fetch function that connects to public hosts only. If the URL contains an IP address,
 * that address is checked. A host name is checked by the addresses to which the connection is
 * actually made, which prevents DNS rebinding.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { maxBytes = MAX_BYTES, totalMs = TOTAL_MS } = options;
  const client = lazyResource(() => openClient(options, maxBytes));
  const request = async (url: string, init: RequestInit): Promise<Response> => {
    const fault = urlFault(url, options);
    if (fault !== undefined) throw new Error(fault);
    const signals = [AbortSignal.timeout(totalMs), ...(init.signal ? [init.signal] : [])];
    const { dispatcher, fetch } = await client.get();
    const response = await fetch(url, {
      method: init.method ?? "GET",
      headers: [...new Headers(init.headers)],
      body: (init.body ?? null) as BodyInit | null,
      redirect: init.redirect === "manual" ? "manual" : "error",
      signal: AbortSignal.any(signals),
      dispatcher,
    });
    const body = response.body && (await readWholeBody(response.body, maxBytes));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers: [...headers] });
  };
  return {
    async fetch(input, init = {}) {
      try {
        return await request(String(input), init);
      } catch (error) {
        throw new OutboundError(error);
      }
    },
    close: () => client.ifOpen(({ dispatcher }) => dispatcher.destroy()),
  };
}

/** Loads undici when the first request is made. */
async function openClient(options: GuardedDispatcherOptions, maxResponseSize: number) {
  const { fetch } = await import("undici");
  const { createGuardedDispatcher } = await import("./guarded-dispatcher.ts");
  const bounds = { connections: MAX_CONNECTIONS, maxResponseSize };
  return { fetch, dispatcher: createGuardedDispatcher(options, bounds) };
}
