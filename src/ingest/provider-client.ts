import { Agent, fetch, type Response } from "undici";
import pkg from "../../package.json" with { type: "json" };
import { retryAfterMs } from "../outbound/retry-after.ts";
import { readWholeBody } from "../outbound/whole-body.ts";
import { ProviderFault } from "../sources/live/fault.ts";
import type { ProviderRequest } from "../sources/live/provider.ts";
import type { ProviderResponse } from "../sources/live/provider-response.ts";

/**
 * Timeout for a complete answer, in milliseconds; filings of large companies have several
 * megabytes.
 */
const TOTAL_MS = 60_000;

/** Timeout for connecting, for the first byte and between bytes, in milliseconds. */
const SILENCE_MS = 15_000;

/** Default maximum size of a response body, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Value of the `User-Agent` header; some venues refuse requests without it. */
const USER_AGENT = `market-signal/${pkg.version}`;

/** Sends a request to a provider. */
export type SendProviderRequest = (request: ProviderRequest) => Promise<ProviderResponse>;

/** Dependencies of a client. */
interface ProviderClientOptions {
  /** Origin of the provider, without a trailing slash. */
  readonly origin: string;
  /** Mirror configured by the operator; it replaces every origin of the provider. */
  readonly mirror?: string | undefined;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Timeouts in milliseconds. Default: 60 s for the whole answer, 15 s of silence. */
  readonly patience?: { readonly totalMs: number; readonly silenceMs: number };
}

/** HTTP client of one provider. */
interface ProviderClient {
  /** @throws {ProviderFault} If there is no answer with a status that the request accepts. */
  readonly ask: SendProviderRequest;
  /** Aborts requests in progress. */
  close(): Promise<void>;
}

/**
 * Opens the client of one provider. Redirects are not followed: no provider documents any, and the
 * API key would be sent along.
 */
export function openProviderClient({
  origin,
  mirror,
  now,
  patience,
}: ProviderClientOptions): ProviderClient {
  const { totalMs, silenceMs } = patience ?? { totalMs: TOTAL_MS, silenceMs: SILENCE_MS };
  const dispatcher = new Agent({
    connections: 2,
    connect: { timeout: silenceMs },
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
  });
  const send = async (request: ProviderRequest) => {
    const { path, post, headers, maxBytes = MAX_BYTES } = request;
    const response = await fetch((mirror ?? request.origin ?? origin) + path, {
      method: post === undefined ? "GET" : "POST",
      headers: {
        "user-agent": USER_AGENT,
        ...(post && { "content-type": post.type }),
        ...headers,
      },
      body: post?.body ?? null,
      redirect: "manual",
      signal: AbortSignal.timeout(totalMs),
      dispatcher,
    });
    const body = response.body ? await readWholeBody(response.body, maxBytes) : Buffer.alloc(0);
    return { response, body };
  };
  return {
    async ask(request) {
      const { response, body } = await send(request).catch((error: unknown) => {
        throw new ProviderFault("unreachable", reasonOf(error));
      });
      const receivedAt = now();
      const { status } = response;
      if (status !== 200 && !request.accepts?.includes(status)) throw faultOf(response, receivedAt);
      const header = (name: string) => response.headers.get(name) ?? undefined;
      const otherTime = clockFault(header, receivedAt);
      if (otherTime !== undefined) throw otherTime;
      return { status, header, body, receivedAt };
    },
    close: () => dispatcher.destroy(),
  };
}

function faultOf({ status, headers }: Response, now: number): ProviderFault {
  const retryAfter = retryAfterMs(headers.get("retry-after") ?? undefined, now);
  const reason = `answered ${status}`;
  if (status === 429) return new ProviderFault("limited", reason, retryAfter);
  if (status === 401 || status === 403) return new ProviderFault("refused", reason, retryAfter);
  if (status >= 500) return new ProviderFault("failing", reason, retryAfter);
  return new ProviderFault("malformed", reason);
}

/** Why there was no answer. The URL is omitted, because it may contain a key. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return "no answer";
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.name;
  if (code === "TimeoutError") return "no whole answer in time";
  return cause.message.startsWith("The body has") ? cause.message : `no answer (${code})`;
}

/** Maximum difference between the clock of a provider and ours, in milliseconds. */
const MAX_SKEW_MS = 10 * 60_000;

/**
 * The fault of an answer whose `Date` and `Age` (RFC 9110 6.6.1, RFC 9111 5.1) differ from our
 * clock. If our clock were ahead, days that have not passed yet would count as days without data.
 *
 * @param now Unix milliseconds.
 * @returns `undefined` if the clocks agree or the answer has no date.
 */
export function clockFault(
  header: ProviderResponse["header"],
  now: number,
): ProviderFault | undefined {
  const ageMs = Number(header("age") ?? 0) * 1_000;
  const at = Date.parse(header("date") ?? "") + (ageMs || 0);
  if (!(Math.abs(now - at) > MAX_SKEW_MS)) return undefined;
  const text = `its clock says ${header("date")}, ours ${new Date(now).toUTCString()}`;
  return new ProviderFault("clock", `${text}: is the clock of this machine right?`);
}
