import { z } from "zod";
import { hasStoredKeys, KEYS_TOPIC, type KeyRecord, keyRecords } from "../../keys/key-records.ts";
import { type KeyUse, keyUses } from "../../keys/key-uses.ts";
import { readAll } from "../../store/port/read-all.ts";
import { transact } from "../../store/transact.ts";
import { type CommandContext, defineStoreCommand } from "../command.ts";

/** Lists the signing keys and other secret keys of the store. */
export const keysListCommand = defineStoreCommand({
  summary: "Lists the keys of the service, never their secret parts.",
  notes: ["A retired key only verifies, or opens, what was made with it before."],

  async run(_args, { store }) {
    const found = await readAll(store.records, keyRecords);
    const keys = found.map(({ value }) => keyFacts(value)).sort(byUseThenRetirement);
    return {
      isGood: true,
      lines:
        keys.length === 0
          ? ["There are no keys yet; the first start makes them."]
          : keys.map(keyText),
      result: { keys },
      notes: [],
    };
  },
});

interface KeyFacts {
  readonly use: string;
  readonly kid: string;
  /** Creation time in ISO 8601. */
  readonly createdAt: string;
  /** Retirement time in ISO 8601; `null` for the key in use. */
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

/** Orders keys by use, the one in use first, then those that retired last. */
const byUseThenRetirement = (a: KeyFacts, b: KeyFacts): number =>
  a.use.localeCompare(b.use) || retirementOf(b).localeCompare(retirementOf(a));

/** A text that sorts as the time of retirement does; after every time for the key in use. */
const retirementOf = ({ retiredAt }: KeyFacts): string => retiredAt ?? "9";

function keyText({ use, kid, createdAt, retiredAt }: KeyFacts): string {
  const end = retiredAt === null ? "in use" : `retired ${retiredAt}`;
  return `${use.padEnd(18)} ${kid}  made ${createdAt}  ${end}`;
}

const uses = Object.keys(keyUses) as KeyUse[];

/** Rotates the keys of the store. */
export const keysRotateCommand = defineStoreCommand({
  summary: "Makes new keys, of every use or of one; the old ones are kept while they are needed.",
  notes: ["Uses:", ...uses.map((use) => `  ${use}`)],
  options: {
    use: {
      value: "<use>",
      about: "only the key of this use",
      schema: z.enum(uses, `must be one of ${uses.join(", ")}`).optional(),
    },
  },

  async run({ use }, { keyring }) {
    const ring = await keyring();
    const keys: { readonly use: KeyUse; readonly kid: string }[] = [];
    for (const each of use === undefined ? uses : [use]) {
      keys.push({ use: each, kid: await ring.rotate(each, { actor: "operator" }) });
    }
    return {
      isGood: true,
      lines: keys.map(({ use, kid }) => `New key for ${use}: ${kid}`),
      result: { keys },
      notes: [],
    };
  },
});

/**
 * Makes every process load the keys of a restored backup or an import.
 *
 * @returns Notes for the operator; empty when the keys can be used.
 */
export async function reloadKeysWithNotes({
  store,
  keyring,
}: CommandContext): Promise<readonly string[]> {
  if (!(await hasStoredKeys(store.records))) return [];
  await transact(store.records, (tx) => tx.announce(KEYS_TOPIC));
  try {
    await (await keyring()).reload();
    return [];
  } catch (error) {
    return [`Warning: ${error instanceof Error ? error.message : error}.`];
  }
}
