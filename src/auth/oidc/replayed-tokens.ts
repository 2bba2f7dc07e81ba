import { type AdapterPayload, errors } from "oidc-provider";
import type { AuditEntry } from "../../store/audit/entry.ts";
import { update } from "../../store/port/operations.ts";
import { grantRevocation, grantRevocationById, grants } from "../accounts/grants.ts";
import type { AdapterContext, RecordRef } from "./adapter-context.ts";
import { survivorOf } from "./refresh-token-families.ts";

/** Of several concurrent requests with one code or refresh token, all but the first end here.
 *  @throws `invalid_grant` */
export async function checkReplays(
  consumed: readonly RecordRef[],
  context: AdapterContext,
): Promise<void> {
  for (const used of consumed) {
    const present = await context.records.get(used.collection, used.key);
    if (present !== undefined && present.consumedAt === undefined) continue;
    const stored = present ?? (await survivorOf(context.records, used));
    if (stored !== undefined) await endReplayed(used, stored.value, context);
    throw new errors.InvalidGrant("used before");
  }
}

/** Revokes everything that came of a code or refresh token that was presented again: one of the two
 *  who have it is a thief (RFC 6749 sections 4.1.2 and 10.4). */
export async function endReplayed(
  { model, key }: RecordRef,
  { grantId }: AdapterPayload,
  context: AdapterContext,
): Promise<void> {
  if (grantId === undefined) return;
  await endGrant(grantId, { action: "grant.replayed", target: `${model}:${key}` }, context);
}

/** Ends a grant with every code and token that came of it, in one step.
 *  @param entry Recorded once, by whichever of several concurrent requests ends the grant; its actor
 *    is the client. */
export async function endGrant(
  grantId: string,
  entry: Pick<AuditEntry, "action" | "target">,
  { records, audit }: AdapterContext,
): Promise<void> {
  await update(records, { collection: grants, key: grantId }, async (grant) => {
    if (grant === undefined) return grantRevocationById(records, grantId);
    const actor = String(grant.value.clientId);
    return [...(await grantRevocation(records, grant)), ...audit({ ...entry, actor })];
  });
}
