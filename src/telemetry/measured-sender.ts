import type { Sender } from "../alerts/sender.ts";
import { type Meters, statusClass } from "./meters.ts";
import { fail, tracedRequest } from "./traces.ts";

/** A sender whose attempts are measured. */
export function measuredSender(sender: Sender, meters: Pick<Meters, "attempt">): Sender {
  return {
    ...sender,
    send(outgoing) {
      // The path of a webhook, and what stands before its host, may be secrets.
      const { hostname = "" } = URL.parse(outgoing.url) ?? {};
      const attributes = { "http.request.method": "POST", "server.address": hostname };
      return tracedRequest({ name: "POST webhook", attributes }, async (span) => {
        const startedAt = performance.now();
        const seconds = () => (performance.now() - startedAt) / 1_000;
        try {
          const answered = await sender.send(outgoing);
          const { status } = answered;
          span.setAttribute("http.response.status_code", status);
          if (status > 299) fail(span, String(status));
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
