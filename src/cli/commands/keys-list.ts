import { z } from "zod";
import { type KeyRecord, keyRecords } from "../../store/key-records.ts";
import { defineCommand } from "../command.ts";

/** More keys than there ever are. */
const ALL = 10_000;

/** Says which keys there are. */
export const keysList = defineCommand({
  summary: "Lists the keys of the service, never their secret parts.",
  notes: ["A retired key only verifies, or opens, what was made with it before."],
  options: {},
  args: z.strictObject({}),

  async run(_args, { store }) {
    const found = await store.records.list(keyRecords, { limit: ALL });
    const keys = found.map(({ value }) => keyFacts(value)).sort(byUseThenNewest);
    return {
      isGood: true,
      text: keys.map(keyText).join("\n") || "There are no keys yet; the first start makes them.",
      result: { keys },
      notes: [],
    };
  },
});

interface KeyFacts {
  readonly use: string;
  readonly kid: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601; `null` for the one in use. */
  readonly retiredAt: string | null;
}

function keyFacts({ use, kid, createdAt, retiredAt }: KeyRecord): KeyFacts {
  const iso = (at: number) => new Date(at).toISOString();
  return {
    use,
    kid,
    createdAt: iso(createdAt),
    retiredAt: retiredAt === null ? null : iso(retiredAt),
  };
}

function byUseThenNewest(a: KeyFacts, b: KeyFacts): number {
  if (a.use !== b.use) return a.use < b.use ? -1 : 1;
  return (a.retiredAt ?? "9") < (b.retiredAt ?? "9") ? 1 : -1;
}

function keyText({ use, kid, createdAt, retiredAt }: KeyFacts): string {
  const end = retiredAt === null ? "in use" : `retired ${retiredAt}`;
  return `${use.padEnd(18)} ${kid}  made ${createdAt}  ${end}`;
}
