import { z } from "zod";
import { readInquiries } from "../../intake/kept.ts";
import { defineStoreCommand } from "../command.ts";
import { isoOrNull } from "./shared.ts";

/** Shows what was asked. */
export const inquiriesList = defineStoreCommand({
  summary: "Shows the inquiries, the oldest first.",
  notes: ["Each is kept for 180 days. Nobody has checked whose addresses these are."],
  options: {},
  args: z.strictObject({}),

  async run(_args, { store }) {
    const found = await readInquiries(store.records);
    const inquiries = found.map((each) => ({ ...each, receivedAt: isoOrNull(each.receivedAt) }));
    const texts = inquiries.map(
      ({ reference, receivedAt, email, message }) =>
        `${reference}  ${receivedAt}  ${email}\n${message.replace(/^/gm, "  ")}`,
    );
    return {
      isGood: true,
      text: texts.join("\n\n") || "There are no inquiries.",
      result: { inquiries },
      notes: [],
    };
  },
});
