import type { WebhookSender } from "../alerts/delivery/sender.ts";
import type { SendProviderRequest } from "../ingest/provider-client.ts";
import type { LimitState } from "../limits/limits.ts";
import type { Limits, QuotaState } from "../limits/quotas.ts";
import { policyName } from "../limits/rate-limit-problem.ts";
import type { Records } from "../store/port/records.ts";
import { type Meters, statusClass } from "../telemetry/meters.ts";
import { markSpanFailed, traceRequest, traceWork } from "../telemetry/traces.ts";

/** Wraps records so that commits are measured. */
export function measuredRecords(records: Records, meters: Meters): Records {
  return {
    ...records,
    commit: (operations) =>
      traceWork({ name: "store commit" }, async (span) => {
        const startedAt = performance.now();
        const seconds = () => (performance.now() - startedAt) / 1_000;
        span.setAttribute("db.operation.batch.size", operations.length);
        try {
          const held = await records.commit(operations);
          meters.commit(held ? "ok" : "conflict", seconds());
          return held;
        } catch (error) {
          meters.commit("failed", seconds());
          throw error;
        }
      }),
  };
}

/** Wraps a webhook sender so that attempts are measured and traced. */
export function measuredSender(sender: WebhookSender, meters: Meters): WebhookSender {
  return {
    ...sender,
    send(outgoing) {
      // The path and the user information of a webhook URL may contain secrets.
      const { hostname = "" } = URL.parse(outgoing.url) ?? {};
      const attributes = { "http.request.method": "POST", "server.address": hostname };
      return traceRequest({ name: "POST webhook", attributes }, async (span) => {
        const startedAt = performance.now();
        const seconds = () => (performance.now() - startedAt) / 1_000;
        try {
          const answered = await sender.send(outgoing);
          const { status } = answered;
          span.setAttribute("http.response.status_code", status);
          if (status > 299) markSpanFailed(span, String(status));
          meters.attempt(statusClass(status), seconds());
          return answered;
        } catch (error) {
          meters.attempt("unreachable", seconds());
          throw error;
        }
      });
    },
  };
}

/**
 * Traces requests to a provider. Spans contain no paths or headers, since these may contain keys.
 */
export function tracedProviderRequests(
  providerId: string,
  ask: SendProviderRequest,
): SendProviderRequest {
  return (request) => {
    const method = request.post === undefined ? "GET" : "POST";
    const attributes = { "http.request.method": method, "peer.service": providerId };
    return traceRequest({ name: `${method} ${providerId}`, attributes }, async (span) => {
      const answer = await ask(request);
      span.setAttribute("http.response.status_code", answer.status);
      return answer;
    });
  };
}

/** Limits with a count of the requests that they refused. */
interface CountedLimits {
  readonly limits: Limits;
  /** Number of refusals since the start, by the limit exceeded. */
  readonly denials: () => Readonly<Record<string, number>>;
}

/** Wraps limits so that refusals are counted. */
export function withDenialCounts(limits: Limits): CountedLimits {
  const denials: Record<string, number> = {};
  const judged = (state: LimitState): LimitState => {
    const name = policyName(state);
    if (state.isExceeded) denials[name] = (denials[name] ?? 0) + 1;
    return state;
  };
  const counted = (remaining: QuotaState): QuotaState => {
    const { quota, isExceeded } = remaining;
    if (isExceeded) denials[quota] = (denials[quota] ?? 0) + 1;
    return remaining;
  };
  return {
    limits: {
      admit: async (name, party) => judged(await limits.admit(name, party)),
      check: async (name, party) => judged(await limits.check(name, party)),
      count: async (quota, key) => counted(await limits.count(quota, key)),
      peek: async (quota, key) => counted(await limits.peek(quota, key)),
    },
    denials: () => ({ ...denials }),
  };
}
