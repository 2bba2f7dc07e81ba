import { ProviderFault } from "../../fault.ts";
import { type ProviderResponse, quoted } from "../../provider-response.ts";

/** The SEC lifts a rate block after ten slow minutes. */
const TOO_FAST_MS = 10 * 60_000;

/**
 * Classifies a 403 of the SEC; other answers pass.
 *
 * @throws {ProviderFault} `limited` when we were too fast, otherwise `refused`.
 */
export function checkAccess({ status, body }: ProviderResponse): void {
  if (status !== 403) return;
  const text = body.toString("utf8");
  if (/request rate threshold/i.test(text)) {
    throw new ProviderFault("limited", "answered 403: too many requests", TOO_FAST_MS);
  }
  const hint = "SEC_USER_AGENT must be a name and an email address";
  throw new ProviderFault("refused", `answered 403 (${hint}): ${quoted(text)}`);
}
