import { update } from "../../store/port/operations.ts";
import { grants, withoutFamily, withoutGrant } from "../accounts/grants.ts";
import type { AdapterContext } from "./adapter-context.ts";

/** Ends a grant with every code and token that came of it, in one step. */
export async function endFamily({ records, audit }: AdapterContext, grantId: string) {
  await update(records, { collection: grants, key: grantId }, async (grant) => {
    if (grant === undefined) return withoutFamily(records, grantId);
    const actor = String(grant.value.clientId);
    return [
      ...(await withoutGrant(records, grant)),
      ...audit({ action: "grant.revoked", actor, target: grantId }),
    ];
  });
}
