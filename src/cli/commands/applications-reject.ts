import { z } from "zod";
import { defineCommand } from "../command.ts";
import { ApplicationArgument, decisionsOf, noApplication } from "./parts.ts";

/** Turns an applicant down. */
export const applicationsReject = defineCommand({
  summary: "Rejects an application; nobody is told.",
  notes: ["An account or a key that the applicant has by then is not touched."],
  operand: "<id>",
  options: {},
  args: z.strictObject({ id: ApplicationArgument }),

  async run({ id }, context) {
    const decision = await decisionsOf(context).reject(id);
    if (decision === undefined) throw noApplication(id);
    const { application, isNew } = decision;
    const { email, name } = application;
    return {
      isGood: true,
      text: `${isNew ? "Rejected" : "Was rejected before:"} ${id}, ${email}, ${name}`,
      result: { id, state: "rejected", isNew },
      notes: [],
    };
  },
});
