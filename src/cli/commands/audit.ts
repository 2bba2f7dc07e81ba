import { z } from "zod";
import { readAudit } from "../../maintenance/audit/read-audit.ts";
import type { AuditEntry } from "../../store/audit-entry.ts";
import type { ArchiveRow } from "../../store/port/archive.ts";
import { defineStoreCommand } from "../command.ts";
import { leftOutNotes, listOptions, newest, sinceOf } from "./listing.ts";
import { isoOrNull } from "./shared.ts";

/** `audit`: shows the audit log. */
export const auditCommand = defineStoreCommand({
  summary: "Shows the audit log, the newest row first: who did what to whom.",
  notes: [
    "Each grant, claim, revocation, key change and act of an operator is a row. Addresses are hashes.",
    "`store verify` says whether the rows are as they were written.",
  ],
  options: {
    ...listOptions,
    action: {
      value: "<text>",
      about: "only actions that begin with this, such as client.",
      schema: z.string().min(1, "is empty").optional(),
    },
    id: {
      value: "<id>",
      about: "only rows whose actor or target this is",
      schema: z.string().min(1, "is empty").optional(),
    },
  },

  async run({ since, limit, action, id }, { store, now }) {
    const from = sinceOf(since, now());
    const fitting = (await readAudit(store, from)).map(rowFacts).filter((row) => {
      const { actor, target } = row;
      const isAction = action === undefined || row.action.startsWith(action);
      return isAction && (id === undefined || actor === id || target === id);
    });
    const shown = newest(fitting, { since: from, limit }, ({ at }) => at);
    const rows = shown.items.map(({ at, ...facts }) => facts);
    return {
      isGood: true,
      lines: rows.length === 0 ? ["There are no such rows."] : rows.map(rowText),
      result: { rows, total: shown.total },
      notes: leftOutNotes(shown),
    };
  },
});

function rowFacts({ at, body }: ArchiveRow) {
  const { action, actor, target, addressHash, requestId, detail } = body as AuditEntry;
  return {
    time: isoOrNull(at),
    action,
    actor,
    target,
    address: addressHash ?? null,
    requestId: requestId ?? null,
    detail: detail ?? {},
    at,
  };
}

function rowText(row: Omit<ReturnType<typeof rowFacts>, "at">): string {
  const { time, action, actor, target, address, requestId, detail } = row;
  const more = Object.entries(detail).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const from = [address && `from ${address}`, requestId && `request ${requestId}`];
  return [time, action, `by ${actor}`, `on ${target}`, ...from, ...more].filter(Boolean).join("  ");
}
