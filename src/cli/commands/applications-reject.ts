import { z } from "zod";
import { defineCommand } from "../command.ts";
import { ApplicationArgument, decisionsOf, noApplication, queueTokenNotes } from "./parts.ts";

/** Turns an applicant down. */
export const applicationsReject = defineCommand({
  summary: "Rejects an application; nobody is told.",
  notes: ["An account or a key that the applicant has by then is not touched.", ...queueTokenNotes],
  operand: "<id>",
  options: {},
  args: z.strictObject({ id: ApplicationArgument }),

  async run({ id: named }, context) {
    const decision = await decisionsOf(context).reject(named);
    if (decision === undefined) throw noApplication(named);
    const { application, isNew } = decision;
    const { id, email, name } = application;
    return {
      isGood: true,
      text: `${isNew ? "Rejected" : "Was rejected before:"} ${id}, ${email}, ${name}`,
      result: { id, state: "rejected", isNew },
      notes: [],
    };
  },
});
