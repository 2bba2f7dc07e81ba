import { traceRequest } from "../telemetry/traces.ts";
import type { SendProviderRequest } from "./provider-client.ts";

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
