import { z } from "zod";
import { ProviderFault, type ProviderFaultKind } from "../../fault.ts";
import type { ProviderRequest } from "../../provider.ts";
import { type ProviderResponse, parseJsonBody, quoted } from "../../provider-response.ts";

/** JSON-RPC error codes that are not caused by the request. */
const FAULTS: Readonly<Record<number, ProviderFaultKind>> = {
  /** Error `too_many_requests`. */
  10028: "limited",
  /** Error `too_many_concurrent_requests`. */
  10066: "limited",
  /** Error `retry`. */
  10040: "failing",
  /** Error `settlement_in_progress`. */
  10041: "failing",
  /** Error `system_maintenance`. */
  11051: "failing",
};

const Refusal = z.looseObject({ error: z.looseObject({ code: z.number(), message: z.string() }) });

/**
 * The request that calls a public method. Status 400 is accepted, since its body is a JSON-RPC
 * error.
 */
export const rpcRequest = (
  method: string,
  parameters: Readonly<Record<string, string>>,
): ProviderRequest => ({
  path: `/api/v2/public/${method}?${new URLSearchParams(parameters)}`,
  accepts: [400],
});

/**
 * Parses the result of a call.
 *
 * @throws {ProviderFault} If the answer does not match the schema, or is an error.
 */
export function jsonRpcResult<S extends z.ZodType>(
  answer: ProviderResponse,
  schema: S,
): z.output<S> {
  const { error } = parseJsonBody(answer, z.looseObject({ error: z.unknown().optional() }));
  if (error !== undefined) throw faultOf(answer);
  if (answer.status !== 200) throw new ProviderFault("malformed", `status ${answer.status}`);
  return parseJsonBody(answer, schema);
}

function faultOf(answer: ProviderResponse): ProviderFault {
  const { code, message } = parseJsonBody(answer, Refusal).error;
  return new ProviderFault(FAULTS[code] ?? "malformed", `it says ${code} ${quoted(message)}`);
}
