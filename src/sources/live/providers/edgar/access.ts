import { ProviderFault } from "../../fault.ts";
import { type ProviderResponse, quoted } from "../../provider-response.ts";

/**
 * Pause after a rate block, in milliseconds; the SEC lifts it once the request rate has been low
 * for ten minutes.
 */
const TOO_FAST_MS = 10 * 60_000;

/**
 * Checks for a 403 of the SEC; other responses pass.
 *
 * @throws {ProviderFault} `limited` if the request rate was too high, otherwise `refused`.
 */
export function checkSecAccess({ status, body }: ProviderResponse): void {
  if (status !== 403) return;
  const text = body.toString("utf8");
  if (/request rate threshold/i.test(text)) {
    throw new ProviderFault("limited", "answered 403: too many requests", TOO_FAST_MS);
  }
  const hint = "SEC_USER_AGENT must be a name and an email address";
  throw new ProviderFault("refused", `answered 403 (${hint}): ${quoted(text)}`);
}
