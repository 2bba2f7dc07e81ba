import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SigningKeys } from "../../src/log/signers.ts";
import { sealAudit } from "../../src/store/audit/audit-tree.ts";
import { type AuditVerification, verifyAudit } from "../../src/store/audit/verify-audit.ts";
import { keyUses } from "../../src/store/keys/key-uses.ts";
import type { DumpRow, Store } from "../../src/store/port/store.ts";
import type { TestStore } from "./stores.ts";

/** Keys that sign a log. */
export const newSigningKeys = (): SigningKeys => {
  const key = { ...keyUses["log-signing"].generate(), kid: "key" };
  return { keys: () => [{ jwk: key }] } as unknown as SigningKeys;
};

/** The keys of every store that is sealed here. */
export const AUDIT_KEYS = newSigningKeys();

/** Seals all audit rows that wait. */
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
 * A store of the version before the tree: rows 3 to 12 in a hash chain, of which retention removed two, and
 * two rows that wait. It is a backup that this version wrote, one line a row between header and footer.
 */
export function chainedStore(): readonly DumpRow[] {
  const path = join(import.meta.dirname, "../fixtures/audit-chain.jsonl");
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.slice(1, -1).map((line) => JSON.parse(line) as DumpRow);
}
