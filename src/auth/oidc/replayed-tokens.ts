import { type AdapterPayload, errors } from "oidc-provider";
import { deleteGrantById, grants } from "../../principals/accounts/grants.ts";
import type { AuditEntry } from "../../store/audit-entry.ts";
import { transact } from "../../store/transact.ts";
import type { AdapterContext, ModelRecordRef } from "./adapter-context.ts";
import { findFamilyToken } from "./refresh-token-families.ts";

/**
 * Rejects a code or refresh token that was used before or concurrently, and revokes everything
 * issued from it.
 * @throws `invalid_grant`
 */
export async function rejectReplayedTokens(
  consumed: readonly ModelRecordRef[],
  context: AdapterContext,
): Promise<void> {
  for (const used of consumed) {
    const present = await context.records.get(used.collection, used.key);
    if (present !== undefined && present.consumedAt === undefined) continue;
    const stored = present ?? (await findFamilyToken(context.records, used));
    if (stored !== undefined) await revokeGrantOfReplayedToken(used, stored.value, context);
    throw new errors.InvalidGrant("it was used before");
  }
}

/** Revokes everything issued from a replayed code or refresh token: one of the two parties that
 *  presented it is a thief (RFC 6749 sections 4.1.2 and 10.4). */
export async function revokeGrantOfReplayedToken(
  { model, key }: ModelRecordRef,
  { grantId }: AdapterPayload,
  context: AdapterContext,
): Promise<void> {
  if (grantId === undefined) return;
  await revokeGrant(grantId, { action: "grant.replayed", target: `${model}:${key}` }, context);
}

/**
 * Revokes a grant with every code and token issued under it, in one transaction.
 * @param entry The audit entry, written once even if concurrent requests revoke the grant; its
 * actor is the client.
 */
export async function revokeGrant(
  grantId: string,
  entry: Pick<AuditEntry, "action" | "target">,
  { records, audit }: AdapterContext,
): Promise<void> {
  await transact(records, async (tx) => {
    const grant = await tx.get(grants, grantId);
    await deleteGrantById(tx, grantId);
    if (grant !== undefined) audit(tx, { ...entry, actor: String(grant.value.clientId) });
  });
}
