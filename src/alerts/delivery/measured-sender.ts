import { type Meters, statusClass } from "../../telemetry/meters.ts";
import { markSpanFailed, traceRequest } from "../../telemetry/traces.ts";
import type { WebhookSender } from "./sender.ts";

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
