import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import { widestNetwork } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import type { Records } from "../../store/port/records.ts";
import type { Auditor } from "../auditor.ts";

/** Errors that say of what was presented that it is not good (RFC 6749 section 5.2). */
const REFUSALS: readonly unknown[] = ["invalid_client", "invalid_grant"];

/** What refusals are recorded with. */
interface RefusalOptions {
  readonly records: Pick<Records, "commit">;
  readonly audit: Auditor;
  readonly limits: Pick<Limits, "count">;
  /** Told when one could not be recorded; it stands all the same. */
  readonly onError: (error: unknown) => void;
}

/**
 * Records refused token requests, of one network so many in an hour (`token-refused`): whoever has many
 * clients could else fill the audit, which is kept for more than a year, with wrong tokens. What a
 * stranger calls itself is not recorded: only a client that there is has a name.
 */
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
