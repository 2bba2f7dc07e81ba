import { z } from "zod";
import type { Application } from "../../intake/intake.ts";
import { applicationOfToken, readApplications } from "../../intake/kept.ts";
import { defineCommand } from "../command.ts";
import { isoOrNull } from "./parts.ts";

const states = ["waiting", "accepted", "rejected"] as const satisfies Application["state"][];

/** Says who has applied. */
export const applicationsList = defineCommand({
  summary: "Lists the applications for early access, in the order of the queue.",
  notes: ["Names and addresses are what applicants wrote; nobody has checked them."],
  options: {
    state: { value: "<state>", about: `only those that are ${states.join(", ")}` },
    token: {
      value: "<token>",
      isSecret: true,
      about: "only the one that this queue token was given for",
    },
  },
  args: z.strictObject({
    state: z.enum(states, `must be one of ${states.join(", ")}`).optional(),
    token: z.string().optional(),
  }),

  async run({ state, token }, { store: { records } }) {
    const wanted = token === undefined ? undefined : await applicationOfToken(records, token);
    const applications = (await readApplications(records))
      .filter((each) => state === undefined || each.state === state)
      .filter(({ id }) => token === undefined || id === wanted)
      .map(applicationFacts);
    return {
      isGood: true,
      text: applications.map(applicationText).join("\n") || "There are no applications.",
      result: { applications },
      notes: [],
    };
  },
});

function applicationFacts({ id, state, name, email, focus, registeredAt }: Application) {
  const facts = { id, state, name, email, focus: focus ?? null };
  return { ...facts, registeredAt: isoOrNull(registeredAt) };
}

function applicationText(application: ReturnType<typeof applicationFacts>): string {
  const { id, state, name, email, focus, registeredAt } = application;
  return `${id}  ${state.padEnd(8)}  ${registeredAt}  ${focus ?? "-"}  ${email}  ${name}`;
}
