import type { Auditor } from "../../access/auditor.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import { transact } from "../../store/transact.ts";
import { accountRecordsGroup, clients } from "../agents/agent.ts";
import { deleteAccess, type GrantRecord, grants, scopesOfGrant } from "./grants.ts";

/** Maximum number of applications that a page shows. */
const MAX_SHOWN = 1_000;

/** An application that a person has authorized. */
export interface ConnectedApplication {
  readonly grantId: string;
  readonly clientId: string;
  /**
   * Display name of the client; `undefined` for a client with a metadata document, and for a
   * deleted client.
   */
  readonly name: string | undefined;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly grantedAt: number;
}

/** The applications that a person has authorized, oldest first. */
export async function connectedApplicationsOf(
  records: Records,
  accountId: string,
): Promise<readonly ConnectedApplication[]> {
  const found = await records.list(grants, {
    group: accountRecordsGroup(accountId),
    limit: MAX_SHOWN,
  });
  const shown = await Promise.all(found.map((grant) => application(grant, records)));
  return shown.toSorted((a, b) => a.grantedAt - b.grantedAt);
}

/**
 * Revokes an application's grant and its tokens.
 * @returns `false` if the grant belongs to another person.
 */
export function removeConnectedApplication(
  records: Records,
  { accountId, grantId, audit }: { accountId: string; grantId: string; audit: Auditor },
): Promise<boolean> {
  return transact(records, async (tx) => {
    const grant = await tx.get(grants, grantId);
    if (grant?.value.accountId !== accountId) return false;
    await deleteAccess(tx, grant);
    audit(tx, { action: "grant.revoked", actor: accountId, target: grantId });
    return true;
  });
}

async function application(
  { key: grantId, value }: Stored<GrantRecord>,
  records: Records,
): Promise<ConnectedApplication> {
  const { clientId = "", iat = 0 } = value;
  const client = await records.get(clients, clientId);
  const name = client?.value.metadata.client_name;
  return { grantId, clientId, name, scopes: scopesOfGrant(value), grantedAt: iat * 1000 };
}
