import { expect, it } from "vitest";
import { writeAuditEntry } from "../../../src/store/audit-entry.ts";
import type { Store } from "../../../src/store/port/store.ts";
import { transact } from "../../../src/store/transact.ts";
import { sealAll } from "../../support/audit.ts";
import { operatorOf, rowsOf } from "../../support/operator.ts";
import { model, openStore } from "../../support/stores.ts";

/** A store that runs something before one of its reads. */
function interrupted({ records, archive }: Store, at: number, run: () => Promise<void>): Store {
  let reads = 0;
  const before = async () => {
    reads += 1;
    if (reads === at) await run();
  };
  const interruptedStore: Partial<Store> = {
    records: {
      ...records,
      get: async (from, key) => before().then(() => records.get(from, key)),
      list: async (from, selection) => before().then(() => records.list(from, selection)),
    },
    archive: {
      ...archive,
      read: async (kind, selection) => before().then(() => archive.read(kind, selection)),
    },
  };
  return interruptedStore as Store;
}

it.each([1, 2, 3, 4, 5])(
  "the audit log shows each row once, although the leader seals rows before read %i",
  async (read) => {
    const { store, records, clock } = await openStore(model);
    const write = (target: string) =>
      transact(records, (tx) =>
        writeAuditEntry(tx, { action: "key.created", actor: "system", target }, clock.now),
      );
    const seal = () => sealAll({ records, clock });
    await write("one");
    await seal();
    await write("two");
    await write("three");
    const state = { store: interrupted(store, read, seal), keyring: {} as never };
    const operator = operatorOf({ service: { state }, clock: { now: new Date(clock.now) } });
    const rows = rowsOf(await operator("admin audit", {}), "rows");
    expect(rows.map(({ target }) => target)).toEqual(["three", "two", "one"]);
  },
);
