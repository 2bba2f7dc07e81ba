import type { AdapterPayload } from "oidc-provider";
import { grantGroup } from "../../principals/accounts/grants.ts";
import {
  accountRecordsGroup,
  authorizationRequestGroup,
  clientGroup,
} from "../../principals/agents/agent.ts";
import { type Collection, collection } from "../../store/port/records.ts";

/** Group of the record that oidc-provider finds by a uid. */
export const uidGroup = (uid: string): string => `uid:${uid}`;

/** Group of the record that oidc-provider finds by a user code. */
export const userCodeGroup = (userCode: string): string => `userCode:${userCode}`;

/** The records of an oidc-provider model, each in the groups that its payload tells. */
export const modelCollection = (model: string): Collection<AdapterPayload> =>
  collection(`oidc:${model}`, { groups: groupsOf });

/** The groups of a record of a model. */
export function groupsOf(payload: AdapterPayload): readonly string[] {
  const { clientId, grantId, uid, userCode, accountId, params } = payload;
  return [
    params === undefined
      ? []
      : authorizationRequestGroup(String((params as { readonly client_id?: unknown }).client_id)),
    clientId === undefined ? [] : clientGroup(clientId),
    grantId === undefined ? [] : grantGroup(grantId),
    uid === undefined ? [] : uidGroup(uid),
    userCode === undefined ? [] : userCodeGroup(userCode),
    accountId === undefined ? [] : accountRecordsGroup(accountId),
  ].flat();
}
