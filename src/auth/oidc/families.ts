import { remove, removeGroup, update } from "../../store/operations.ts";
import type { Operation } from "../../store/records.ts";
import { grants, underGrant, withoutGrant } from "../accounts/grants.ts";
import type { AdapterContext } from "./adapter-context.ts";

/** The steps that end a grant with every code and token that came of it, whatever is still there.
 *  @param grantId `undefined`: there is no grant to end. */
export function withoutFamily(grantId: string | undefined): readonly Operation[] {
  return grantId === undefined ? [] : [remove(grants, grantId), removeGroup(underGrant(grantId))];
}

/** Ends a grant with every code and token that came of it, in one step. */
export async function endFamily({ records, audit }: AdapterContext, grantId: string) {
  await update(records, { collection: grants, key: grantId }, (grant) => {
    if (grant === undefined) return withoutFamily(grantId);
    const actor = String(grant.value.clientId);
    return [...withoutGrant(grant), ...audit({ action: "grant.revoked", actor, target: grantId })];
  });
}
