import type { BodyInit } from "undici";
import { lazy } from "../lib/lazy.ts";
import type { GuardedAgentOptions } from "./guarded-agent.ts";
import { urlFault } from "./url-policy.ts";
import { wholeBody } from "./whole-body.ts";

/** What a guarded fetch may do. */
export interface GuardedFetchOptions extends GuardedAgentOptions {
  /** Largest body, decompressed, in bytes. Default: 64 KiB. */
  readonly maxBytes?: number;
  /** Longest wait for all of the answer, in milliseconds. Default: 15 s. */
  readonly totalMs?: number;
}

/** Asks addresses that strangers named. */
export interface GuardedFetch {
  /**
   * Like `fetch`, but the whole body is there when it resolves, redirects are never followed
   * (`manual` shows them, everything else fails), and a dispatcher is ignored.
   *
   * @throws {OutboundError} Whatever went wrong.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

/**
 * A host was not asked or did not answer. The text is always the same, since who named the host
 * could learn from it what is in our network; the reason is the `cause`, for our eyes only.
 */
export class OutboundError extends Error {
  override readonly name = "OutboundError";

  constructor(cause: unknown) {
    super("The address could not be fetched.", { cause });
  }
}

/** Bounds that hold where nothing else is said. */
const DEFAULTS = { maxBytes: 64 * 1024, totalMs: 15_000 };

/** Connections to one origin at a time. */
const MAX_CONNECTIONS = 4;

/**
 * Creates a fetch that connects to hosts of the internet only. A host that is an address is
 * checked in the URL. What a name stands for is checked when a connection is made, the very
 * addresses it is made to, so that it cannot be one when it is checked and another when it is used.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { maxBytes, totalMs } = { ...DEFAULTS, ...options };
  const client = lazy(() => openClient(options, maxBytes));
  const ask = async (url: string, init: RequestInit): Promise<Response> => {
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
    const body = response.body && (await wholeBody(response.body, maxBytes));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers: [...headers] });
  };
  return {
    async fetch(input, init = {}) {
      try {
        return await ask(String(input), init);
      } catch (error) {
        throw new OutboundError(error);
      }
    },
    close: () => client.ifOpen(({ dispatcher }) => dispatcher.destroy()),
  };
}

/** What asks is loaded only when something is to be asked. */
async function openClient(options: GuardedAgentOptions, maxResponseSize: number) {
  const { fetch } = await import("undici");
  const { createGuardedAgent } = await import("./guarded-agent.ts");
  const bounds = { connections: MAX_CONNECTIONS, maxResponseSize };
  return { fetch, dispatcher: createGuardedAgent(options, bounds) };
}
