import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import { widestNetwork } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import type { Records } from "../../store/port/records.ts";
import type { Auditor } from "../auditor.ts";

/** Errors for credentials that are not valid (RFC 6749 section 5.2). */
const REFUSALS: readonly unknown[] = ["invalid_client", "invalid_grant"];

/** What refusals are recorded with. */
interface RefusalOptions {
  readonly records: Pick<Records, "commit">;
  readonly audit: Auditor;
  readonly limits: Pick<Limits, "count">;
  /** Called when a refusal could not be recorded; it is refused all the same. */
  readonly onError: (error: unknown) => void;
}

/** Audits refused token requests, up to a limit per network and hour (`token-refused`):
 *  otherwise many clients could fill the audit, which is stored for more than a year, with wrong
 *  tokens. An unknown client is recorded without the name that it gave. */
export function auditRefusals(
  provider: Provider,
  { records, audit, limits, onError }: RefusalOptions,
): void {
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    const error = refusalIn(ctx);
    if (error === undefined) return;
    if ((await limits.count("token-refused", widestNetwork(ctx.ip))).isExceeded) return;
    const { clientId } = ctx.oidc.entities.Client ?? {};
    const actor = error === "invalid_client" ? "anonymous" : (clientId ?? "anonymous");
    const entry = { action: "token.refused", actor, target: clientId ?? "unknown client" };
    await records.commit(audit({ ...entry, detail: { error } })).catch(onError);
  });
}

function refusalIn({ oidc, body }: KoaContextWithOIDC): string | undefined {
  if (oidc?.route !== "token") return undefined;
  const { error } = (body ?? {}) as { readonly error?: unknown };
  return REFUSALS.includes(error) ? String(error) : undefined;
}
