import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import type { Records } from "../../store/records.ts";
import type { Auditor } from "../auditor.ts";

/** Errors that say of what was presented that it is not good (RFC 6749 section 5.2). */
const REFUSALS: readonly unknown[] = ["invalid_client", "invalid_grant"];

/** What refusals are recorded with. */
interface RefusalOptions {
  readonly records: Pick<Records, "commit">;
  readonly audit: Auditor;
  /** Told when one could not be recorded; it stands all the same. */
  readonly onError: (error: unknown) => void;
}

/**
 * Records refused token requests. How many there can be, the limits of the endpoint decide. What a
 * stranger calls itself is not recorded: only a client that there is has a name.
 */
export function auditRefusals(
  provider: Provider,
  { records, audit, onError }: RefusalOptions,
): void {
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    const error = refusalIn(ctx);
    if (error === undefined) return;
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
