import { z } from "zod";
import { anonymousCeiling, type Scope } from "../../auth/scopes.ts";
import type { Decision } from "../../intake/decisions.ts";
import { type CommandContext, defineCommand, type Outcome } from "../command.ts";
import {
  ApplicationArgument,
  decisionsOf,
  mailboxOf,
  newKeyNotes,
  noApplication,
  queueTokenNotes,
  ScopesArgument,
  scopesIn,
} from "./parts.ts";

/** Lets an applicant in. */
export const applicationsAccept = defineCommand({
  summary: "Accepts an application and tells the applicant by mail.",
  notes: [
    "Where SIGN_UP is `applications`, the applicant can then sign in. An API key is never mailed:",
    "hand it over by a way that you trust to reach the applicant, and nobody else.",
    ...queueTokenNotes,
  ],
  operand: "<id>",
  options: {
    "with-key": { about: "make an API key as well, and show it, once" },
    scopes: {
      value: "<scopes>",
      about: `what the key opens; unless given ${anonymousCeiling.join(" ")}`,
    },
  },
  args: z
    .strictObject({
      id: ApplicationArgument,
      "with-key": z.boolean().optional(),
      scopes: ScopesArgument.optional(),
    })
    .refine((args) => args.scopes === undefined || args["with-key"] === true, {
      error: "is for the key of --with-key",
      path: ["scopes"],
    }),

  async run({ id, scopes, ...args }, context) {
    const asked = scopes === undefined ? anonymousCeiling : scopesIn(scopes);
    const keyScopes = args["with-key"] === true ? asked : undefined;
    const decisions = decisionsOf(context, await mailboxOf(context));
    const decision = await decisions.accept(id, keyScopes);
    if (decision === undefined) throw noApplication(id);
    return outcomeOf(decision, { keyScopes, site: context.site });
  },
});

interface Circumstances extends Pick<CommandContext, "site"> {
  readonly keyScopes: readonly Scope[] | undefined;
}

/** Only a server knows where people reach it. */
const noAddress =
  "It names no address, since no service holds the store: tell the applicant where to sign in.";

function outcomeOf(
  { application: { id, email, name }, isNew, key }: Decision,
  { keyScopes, site }: Circumstances,
): Outcome {
  const shown = key === undefined ? "" : `\nIts key:\n${key}`;
  const notes = [
    ...(key === undefined ? [] : newKeyNotes),
    ...(isNew ? ["The message to the applicant waits to be sent."] : []),
    ...(isNew && site === undefined ? [noAddress] : []),
    ...(!isNew && keyScopes ? ["No key was made; `key create` makes one."] : []),
  ];
  return {
    isGood: true,
    text: `${isNew ? "Accepted" : "Was accepted before:"} ${id}, ${email}, ${name}${shown}`,
    result: { id, state: "accepted", isNew, ...(key !== undefined && { key, scopes: keyScopes }) },
    notes,
  };
}
