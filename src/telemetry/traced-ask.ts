import type { Ask } from "../ingest/ask.ts";
import { tracedRequest } from "./traces.ts";

/** Asks a provider within a span. Paths and headers stay out of it: some hold keys. */
export function tracedAsk(providerId: string, ask: Ask): Ask {
  return (request) => {
    const method = request.post === undefined ? "GET" : "POST";
    const attributes = { "http.request.method": method, "peer.service": providerId };
    return tracedRequest({ name: `${method} ${providerId}`, attributes }, async (span) => {
      const answer = await ask(request);
      span.setAttribute("http.response.status_code", answer.status);
      return answer;
    });
  };
}
