import { update } from "../../store/port/operations.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import { belongingTo, clients } from "../agents/agent.ts";
import type { AccountsOptions } from "./account-store.ts";
import type { Accounts, ConnectedApplication } from "./accounts.ts";
import { allowedScopes, type GrantRecord, grants, roomForGrant, withoutAccess } from "./grants.ts";

/** More applications than a page can show. */
const MAX_SHOWN = 1_000;

/** The applications that people let act for them, the first allowed first. */
export function createConnectedApplications({
  records,
  audit,
}: AccountsOptions): Pick<Accounts, "applicationsOf" | "hasRoomFor" | "removeApplication"> {
  return {
    async applicationsOf(accountId) {
      const selection = { group: belongingTo(accountId), limit: MAX_SHOWN };
      const found = await records.list(grants, selection);
      const shown = await Promise.all(found.map((grant) => application(grant, records)));
      return shown.toSorted((a, b) => a.grantedAt - b.grantedAt);
    },
    hasRoomFor: async (accountId, clientId) =>
      (await roomForGrant(records, { accountId, clientId })) !== undefined,
    removeApplication: (accountId, grantId) =>
      update(records, { collection: grants, key: grantId }, async (grant) =>
        grant?.value.accountId === accountId
          ? [
              ...(await withoutAccess(records, grant)),
              ...audit({ action: "grant.revoked", actor: accountId, target: grantId }),
            ]
          : undefined,
      ),
  };
}

/** The name is unknown when the client came by a document, or is gone. */
async function application(
  { key: grantId, value }: Stored<GrantRecord>,
  records: Records,
): Promise<ConnectedApplication> {
  const { clientId = "", iat = 0 } = value;
  const client = await records.get(clients, clientId);
  const name = client?.value.metadata.client_name;
  return { grantId, clientId, name, scopes: allowedScopes(value), grantedAt: iat * 1000 };
}
