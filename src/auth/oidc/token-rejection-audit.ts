import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import type { Auditor } from "../../access/auditor.ts";
import { networkOf } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import type { Records } from "../../store/port/records.ts";
import { transact } from "../../store/transact.ts";

/** Error codes for invalid credentials (RFC 6749 section 5.2). */
const REJECTIONS: readonly unknown[] = ["invalid_client", "invalid_grant"];

/** Dependencies of `auditRejectedTokenRequests`. */
interface RejectionAuditOptions {
  readonly records: Records;
  readonly audit: Auditor;
  readonly limits: Limits;
  /** Called when an audit row could not be written; the token request is rejected all the same. */
  readonly onError: (error: unknown) => void;
}

/**
 * Audits rejected token requests, up to an hourly number per network (`audit-rows`). Without
 * it, clients could fill the audit log, which is stored for more than a year, by sending wrong
 * tokens. The audit row of an unknown client omits the client id that was sent.
 */
export function auditRejectedTokenRequests(
  provider: Provider,
  { records, audit, limits, onError }: RejectionAuditOptions,
): void {
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    const error = rejectionIn(ctx);
    if (error === undefined) return;
    const network = networkOf(ctx.ip);
    if ((await limits.admit("audit-rows", { caller: network, network })).isExceeded) return;
    const { clientId } = ctx.oidc.entities.Client ?? {};
    const actor = error === "invalid_client" ? "anonymous" : (clientId ?? "anonymous");
    const entry = { action: "token.refused", actor, target: clientId ?? "unknown client" };
    await transact(records, (tx) => audit(tx, { ...entry, detail: { error } })).catch(onError);
  });
}

function rejectionIn({ oidc, body }: KoaContextWithOIDC): string | undefined {
  if (oidc?.route !== "token") return undefined;
  const { error } = (body ?? {}) as { readonly error?: unknown };
  return REJECTIONS.includes(error) ? String(error) : undefined;
}
