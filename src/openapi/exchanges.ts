import access from "./fixtures/access.json" with { type: "json" };
import alerts from "./fixtures/alerts.json" with { type: "json" };
import market from "./fixtures/market.json" with { type: "json" };
import problems from "./fixtures/problems.json" with { type: "json" };
import service from "./fixtures/service.json" with { type: "json" };
import webhooks from "./fixtures/webhooks.json" with { type: "json" };

/** An example request. */
export interface ExampleRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | readonly string[]>>;
  readonly header?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A recorded exchange with a running sandbox. `{baseUrl}` stands for the public origin. */
export interface Exchange {
  readonly summary: string;
  readonly request: ExampleRequest;
  readonly status: number;
  /** Absent: no body. */
  readonly answer?: unknown;
}

type Named = Readonly<Record<string, Exchange>>;

/** By operation id and name; the first is what a reader tries first. */
export const exchanges: Readonly<Record<string, Named>> = {
  ...access,
  ...alerts,
  ...market,
  ...service,
};

/** A recorded response for each problem code; some cannot be provoked. */
export const failures: Readonly<Record<string, { readonly answer: unknown }>> = problems;

/** Recorded webhook deliveries, by event type. */
export const recordedDeliveries: Readonly<Record<string, unknown>> = webhooks;
