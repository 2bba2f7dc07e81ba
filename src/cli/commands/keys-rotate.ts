import { z } from "zod";
import { type KeyUse, keyUses } from "../../store/key-uses.ts";
import { defineCommand } from "../command.ts";

const uses = Object.keys(keyUses) as KeyUse[];

/** Makes new keys. */
export const keysRotate = defineCommand({
  summary: "Makes new keys, of every use or of one; the old ones are kept while they are needed.",
  notes: [`Uses: ${uses.join(", ")}.`],
  options: { use: { value: "<use>", about: "only the key of this use" } },
  args: z.strictObject({
    use: z.enum(uses, `must be one of ${uses.join(", ")}`).optional(),
  }),

  async run({ use }, { keyring }) {
    const ring = await keyring();
    const keys: { readonly use: KeyUse; readonly kid: string }[] = [];
    for (const each of use === undefined ? uses : [use]) {
      keys.push({ use: each, kid: await ring.rotate(each, { actor: "operator" }) });
    }
    return {
      isGood: true,
      text: keys.map(({ use, kid }) => `New key for ${use}: ${kid}`).join("\n"),
      result: { keys },
      notes: [],
    };
  },
});
