import { z } from "zod";
import { defineCommand } from "../command.ts";
import { rowsText } from "../wording.ts";

/** Says what the store is and who holds it. */
export const status = defineCommand({
  summary: "Says what the store is, how much is in it, and whether a server runs.",
  notes: [],
  options: {},
  args: z.strictObject({}),

  async run(_args, { store, holder }) {
    const { engine, identity } = store;
    const counts = await store.counts();
    const server = holder === "server" ? "A server runs and answered." : "No server answered.";
    return {
      isGood: true,
      text: `Store ${identity.id}, ${engine}, mode ${identity.mode}: ${rowsText(counts)}.\n${server}`,
      result: {
        ...{ storeId: identity.id, mode: identity.mode, engine, ...counts },
        answeredBy: holder,
      },
      notes: [],
    };
  },
});
