import access from "./fixtures/access.json" with { type: "json" };
import alerts from "./fixtures/alerts.json" with { type: "json" };
import market from "./fixtures/market.json" with { type: "json" };
import problems from "./fixtures/problems.json" with { type: "json" };
import service from "./fixtures/service.json" with { type: "json" };
import webhooks from "./fixtures/webhooks.json" with { type: "json" };

/** What a request says. */
export interface ExampleRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | readonly string[]>>;
  readonly header?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * A request that was made to a running sandbox, and what it answered. `{baseUrl}` stands for the
 * public origin.
 */
export interface Exchange {
  readonly summary: string;
  readonly request: ExampleRequest;
  readonly status: number;
  /** Absent: it had no body. */
  readonly answer?: unknown;
}

type Named = Readonly<Record<string, Exchange>>;

/** By id of the operation and name; the first is what a reader tries first. */
export const exchanges: Readonly<Record<string, Named>> = {
  ...access,
  ...alerts,
  ...market,
  ...service,
};

/** What each code of a failure was once answered with; some cannot be brought about. */
export const failures: Readonly<Record<string, { readonly answer: unknown }>> = problems;

/** What was sent to a webhook, by type of the event. */
export const deliveries: Readonly<Record<string, unknown>> = webhooks;
