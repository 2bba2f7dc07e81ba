import { z } from "zod";
import { defineCommand } from "../command.ts";
import { apiKeysOf } from "./parts.ts";

/** Ends an API key. */
export const keyRevoke = defineCommand({
  summary: "Ends an API key at once, whoever has it.",
  notes: ["The id is what `key list` and `key create` say, never the key itself."],
  operand: "<id>",
  options: {},
  args: z.strictObject({ id: z.string("name a key").startsWith("key_", "must start with key_") }),

  async run({ id }, context) {
    if (!(await apiKeysOf(context).revoke(id, "operator"))) {
      throw new Error(`There is no key ${id}.`);
    }
    return { isGood: true, text: `Revoked ${id}.`, result: { id, revoked: true }, notes: [] };
  },
});
