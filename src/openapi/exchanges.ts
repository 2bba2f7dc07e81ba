import access from "./fixtures/access.json" with { type: "json" };
import alerts from "./fixtures/alerts.json" with { type: "json" };
import market from "./fixtures/market.json" with { type: "json" };
import problems from "./fixtures/problems.json" with { type: "json" };
import service from "./fixtures/service.json" with { type: "json" };
import webhooks from "./fixtures/webhooks.json" with { type: "json" };

/** The request of a recorded example. */
export interface ExampleRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | readonly string[]>>;
  readonly header?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * A recorded request to a running sandbox with its response, in which `{baseUrl}` stands for the
 * public origin.
 */
export interface RecordedHttpExchange {
  readonly summary: string;
  readonly request: ExampleRequest;
  readonly status: number;
  /** Response body; absent for a response without a body. */
  readonly answer?: unknown;
}

type ExchangesByName = Readonly<Record<string, RecordedHttpExchange>>;

/**
 * Recorded requests with their responses, by operation id and name. The first one of an operation
 * is its main example.
 */
export const recordedHttpExchanges: Readonly<Record<string, ExchangesByName>> = {
  ...access,
  ...alerts,
  ...market,
  ...service,
};

/** A recorded response for each problem code, except codes that a test cannot provoke. */
export const recordedProblems: Readonly<Record<string, { readonly answer: unknown }>> = problems;

/** Recorded webhook deliveries, by event type. */
export const recordedDeliveries: Readonly<Record<string, unknown>> = webhooks;
