import { describe, expect, it } from "vitest";
import { unsealedAudit, writeAuditEntry } from "../../../../src/store/audit-entry.ts";
import { insert } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { embedded, openStore } from "../../../support/stores.ts";

const clients = collection<{ readonly name: string }>("clients");
const entry = { action: "client.registered", actor: "system", target: "client-1" };

describe("an audit entry", () => {
  it("is committed together with the change it records, and announced", async () => {
    const { records, clock } = await openStore(embedded);
    const announced = new Promise<string>((resolve) => records.onAnnounce("audit", resolve));
    const client = insert(clients, { key: "client-1", value: { name: "an agent" } });
    await records.commit([client, ...stepsOf(writeAuditEntry, entry, clock.now)]);
    expect(await announced).toBe("");
    const [row] = await records.list(unsealedAudit, { limit: 10 });
    expect(row?.value).toMatchObject({ kind: "audit", subject: "client-1", body: entry });
  });

  it("is not written when the change is rejected", async () => {
    const { records, clock } = await openStore(embedded);
    const client = insert(clients, { key: "client-1", value: { name: "an agent" } });
    await records.commit([client]);
    expect(await records.commit([client, ...stepsOf(writeAuditEntry, entry, clock.now)])).toBe(
      false,
    );
    expect(await records.list(unsealedAudit, { limit: 10 })).toEqual([]);
  });

  it("is written twice for two equal changes at the same instant", async () => {
    const { records, clock } = await openStore(embedded);
    await records.commit([
      ...stepsOf(writeAuditEntry, entry, clock.now),
      ...stepsOf(writeAuditEntry, entry, clock.now),
    ]);
    expect(await records.list(unsealedAudit, { limit: 10 })).toHaveLength(2);
  });
});
