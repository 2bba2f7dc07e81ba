import { keyUses } from "../../src/keys/key-uses.ts";
import { sealAudit } from "../../src/maintenance/audit/audit-tree.ts";
import { readAudit } from "../../src/maintenance/audit/read-audit.ts";
import { type AuditVerification, verifyAudit } from "../../src/maintenance/audit/verify-audit.ts";
import type { AuditEntry } from "../../src/store/audit-entry.ts";
import type { Store } from "../../src/store/port/store.ts";
import type { SigningKeys } from "../../src/tree/signers.ts";
import type { TestStore } from "./stores.ts";

/** Creates a key for signing a log. */
export const newSigningKeys = (): SigningKeys => {
  const key = { ...keyUses["log-signing"].generate(), kid: "key" };
  return { keys: () => [{ jwk: key }] } as unknown as SigningKeys;
};

/** Keys that sign the audit log of every store in these tests. */
export const AUDIT_KEYS = newSigningKeys();

/** Seals all audit rows that are not sealed yet. */
export async function sealAll({ records, clock }: Pick<TestStore, "records" | "clock">) {
  const sealing = { records, keyring: AUDIT_KEYS };
  while ((await sealAudit(sealing, () => clock.now)) > 0);
}

/** Verifies the audit log. */
export const auditOf = (
  store: Pick<Store, "records" | "archive">,
  look: Partial<AuditVerification> = {},
) => verifyAudit(store, { now: () => 0, ...look });

/** The entries of an audit log, sealed or not. */
export const auditEntriesOf = async (
  store: Pick<Store, "records" | "archive">,
): Promise<readonly AuditEntry[]> => (await readAudit(store)).map(({ body }) => body as AuditEntry);
