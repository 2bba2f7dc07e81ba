import { keyUses } from "../../src/keys/key-uses.ts";
import { sealAudit } from "../../src/maintenance/audit/audit-tree.ts";
import { type AuditVerification, verifyAudit } from "../../src/maintenance/audit/verify-audit.ts";
import { AUDIT_KIND, type AuditEntry, unsealedAudit } from "../../src/store/audit-entry.ts";
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

/**
 * The entries of an audit log to which nothing is written meanwhile, sealed or not. The leader seals
 * at any time, so both are read again if a row was sealed in between: it would count twice.
 */
export async function auditEntriesOf({
  records,
  archive,
}: Pick<Store, "records" | "archive">): Promise<readonly AuditEntry[]> {
  for (;;) {
    const unsealed = await records.list(unsealedAudit, { limit: 10_000 });
    const sealed = await archive.read(AUDIT_KIND, { order: "oldest", limit: 10_000 });
    const left = await records.list(unsealedAudit, { limit: 10_000 });
    if (left.length < unsealed.length) continue;
    return [...sealed, ...unsealed.map(({ value }) => value)].map(({ body }) => body as AuditEntry);
  }
}
