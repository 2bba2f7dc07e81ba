/** Every error that callers can receive, with its HTTP status and title. */
const problems = {
  invalid_request: { status: 400, title: "The request is not valid." },
  unauthenticated: { status: 401, title: "A valid credential is required." },
  insufficient_scope: { status: 403, title: "The credential lacks a required scope." },
  claim_required: { status: 403, title: "A person must claim this agent first." },
  forbidden_origin: { status: 403, title: "Requests from this web origin are not accepted." },
  not_found: { status: 404, title: "There is nothing at this address." },
  unknown_symbol: { status: 404, title: "No such instrument." },
  ambiguous_symbol: { status: 404, title: "The symbol fits more than one instrument." },
  method_not_allowed: { status: 405, title: "The method is not allowed here." },
  request_timeout: { status: 408, title: "The request took too long to arrive." },
  alert_limit: { status: 409, title: "No more alerts or watchlists are possible." },
  wrong_state: { status: 409, title: "The state of the alert or watchlist does not allow this." },
  content_too_large: { status: 413, title: "The request body is too large." },
  unsupported_media_type: { status: 415, title: "The content type is not supported." },
  idempotency_key_reused: { status: 422, title: "The key belongs to another request." },
  not_available_then: { status: 422, title: "Nothing was recorded for that time." },
  rate_limited: { status: 429, title: "Too many requests." },
  headers_too_large: { status: 431, title: "The header of the request is too large." },
  internal_error: { status: 500, title: "The service failed." },
  overloaded: { status: 503, title: "There is more to do than can be done just now." },
  provider_unavailable: { status: 503, title: "Another service does not answer just now." },
  not_ready: { status: 503, title: "The service is starting or stopping." },
  store_unavailable: { status: 503, title: "The store cannot answer just now." },
} as const;

/** Stable identifier of a kind of error. */
export type ProblemCode = keyof typeof problems;

/** Title of a kind of error; `undefined` for anything that is not a code of this table. */
export const problemTitle = (code: unknown): string | undefined =>
  Object.hasOwn(problems, String(code)) ? problems[String(code) as ProblemCode].title : undefined;

/** Members of an error in addition to its code: the reason and the remedy. */
interface ProblemDetail {
  /** The reason why the request failed, in one or two sentences for the caller. */
  readonly detail: string;
  /** The remedy: a URL or tool to use, or the change that the request needs. */
  readonly next: string;
  /** Response headers that belong to the error, such as `Allow` or `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * An expected error. All its members are written for the caller and may be sent to the caller; any
 * other thrown error is a bug, and its text must not be sent.
 */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly detail: string;
  readonly next: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, { detail, next, headers = {} }: ProblemDetail) {
    super(`${code}: ${detail} ${next}`);
    this.code = code;
    this.detail = detail;
    this.next = next;
    this.headers = headers;
  }

  /** HTTP status code. */
  get status(): number {
    return problems[this.code].status;
  }

  /** The RFC 9457 body; `code` is the stable identifier, `next` the suggested action. */
  toJSON(): Readonly<Record<string, string | number>> {
    const { status, title } = problems[this.code];
    return {
      type: `urn:market-signal:problem:${this.code}`,
      title,
      status,
      detail: this.detail,
      code: this.code,
      next: this.next,
    };
  }
}
