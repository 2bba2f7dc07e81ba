import { Agent, fetch, type Response } from "undici";
import pkg from "../../package.json" with { type: "json" };
import { retryAfterMs } from "../outbound/retry-after.ts";
import { wholeBody } from "../outbound/whole-body.ts";
import type { Answer } from "../sources/live/answer.ts";
import { ProviderFault } from "../sources/live/fault.ts";
import type { ProviderRequest } from "../sources/live/provider.ts";

/** Longest wait for all of an answer, in milliseconds; filings of large companies have megabytes. */
const TOTAL_MS = 60_000;

/** Longest wait for a connection, the first byte, or the next one, in milliseconds. */
const SILENCE_MS = 15_000;

/** Largest body where the request says nothing else, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Some venues refuse whoever does not say what it is. */
const USER_AGENT = `market-signal/${pkg.version}`;

/** Sends a request to a provider. */
export type Ask = (request: ProviderRequest) => Promise<Answer>;

/** How a provider is asked. */
export interface ProviderClientOptions {
  /** Where it is, without a trailing slash. */
  readonly origin: string;
  /** Where the operator says that it is; stands for all its origins. */
  readonly mirror?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long is waited; the bounds above unless given. */
  readonly patience?: { readonly totalMs: number; readonly silenceMs: number };
}

/** A provider that can be asked. */
export interface ProviderClient {
  /** @throws {ProviderFault} When there is no answer that the request understands. */
  readonly ask: Ask;
  /** Ends what is under way. */
  close(): Promise<void>;
}

/**
 * Opens the line to one provider. Redirects are not followed: none is documented, and the key would
 * go with it.
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
    const body = response.body ? await wholeBody(response.body, maxBytes) : Buffer.alloc(0);
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
  const said = `answered ${status}`;
  if (status === 429) return new ProviderFault("limited", said, retryAfter);
  if (status === 401 || status === 403) return new ProviderFault("refused", said, retryAfter);
  if (status >= 500) return new ProviderFault("failing", said, retryAfter);
  return new ProviderFault("malformed", said);
}

/** Why there was no answer, without the address, which may hold a key. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return "no answer";
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.name;
  if (code === "TimeoutError") return "no whole answer in time";
  return cause.message.startsWith("The body has") ? cause.message : `no answer (${code})`;
}

/** How far the clock of a provider and ours may be apart, in milliseconds. */
const MAX_SKEW_MS = 10 * 60_000;

/**
 * An answer from another time by its `Date` and `Age` (RFC 9110 6.6.1, RFC 9111 5.1) is not taken:
 * with our clock ahead, the days until then would be taken for days without data.
 *
 * @param now Unix milliseconds.
 * @returns `undefined` when the clocks agree, or nothing is said of the time.
 */
export function clockFault(header: Answer["header"], now: number): ProviderFault | undefined {
  const ageMs = Number(header("age") ?? 0) * 1_000;
  const at = Date.parse(header("date") ?? "") + (ageMs || 0);
  if (!(Math.abs(now - at) > MAX_SKEW_MS)) return undefined;
  const text = `its clock says ${header("date")}, ours ${new Date(now).toUTCString()}`;
  return new ProviderFault("clock", `${text}: is the clock of this machine right?`);
}
