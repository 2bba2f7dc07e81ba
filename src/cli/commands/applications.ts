import { z } from "zod";
import { anonymousScopeCeiling, type Scope } from "../../access/scopes.ts";
import type { ApplicationDecision } from "../../principals/applications/decisions.ts";
import type { Application, OtherSubmission } from "../../principals/applications/intake-records.ts";
import {
  applicationOfQueueToken,
  readApplications,
  readInquiries,
} from "../../principals/applications/intake-records.ts";
import { type CommandContext, type CommandOutcome, defineStoreCommand } from "../command.ts";
import {
  ApplicationArgument,
  applicationNotFoundError,
  decisionsOf,
  isoOrNull,
  newApiKeyNotes,
  outboxOf,
  parseScopes,
  queueTokenNotes,
  ScopesArgument,
} from "./shared.ts";

const states = ["waiting", "accepted", "rejected"] as const satisfies Application["state"][];

/** `applications list`: lists the applications for access. */
export const applicationsListCommand = defineStoreCommand({
  summary: "Lists the applications for early access, in the order of the queue.",
  notes: [
    "Names and addresses are what applicants wrote; nobody has checked them. Anyone can apply with",
    "any address: others who did are listed beside the one that waits, the last of each network.",
  ],
  options: {
    state: {
      value: "<state>",
      about: `only those that are ${states.join(", ")}`,
      schema: z.enum(states, `must be one of ${states.join(", ")}`).optional(),
    },
    token: {
      value: "<token>",
      isSecret: true,
      about: "only the one that this queue token was given for",
      schema: z.string().optional(),
    },
  },

  async run({ state, token }, { store: { records } }) {
    const wanted = token === undefined ? undefined : await applicationOfQueueToken(records, token);
    const applications = (await readApplications(records))
      .filter((each) => state === undefined || each.state === state)
      .filter(({ id }) => token === undefined || id === wanted)
      .map(applicationFacts);
    return {
      isGood: true,
      lines:
        applications.length === 0
          ? ["There are no applications."]
          : applications.flatMap(applicationTexts),
      result: { applications },
      notes: [],
    };
  },
});

function applicationFacts({ id, state, email, others = [], ...submission }: Application) {
  const withReason = (other: OtherSubmission) => ({
    ...submissionFacts(other),
    wasRejected: other.wasRejected,
  });
  return { id, state, email, ...submissionFacts(submission), others: others.map(withReason) };
}

const submissionFacts = ({
  name,
  focus,
  registeredAt,
}: Pick<Application, "name" | "focus" | "registeredAt">) => ({
  name,
  focus: focus ?? null,
  registeredAt: isoOrNull(registeredAt),
});

function applicationTexts(application: ReturnType<typeof applicationFacts>): readonly string[] {
  const { id, state, name, email, focus, registeredAt, others } = application;
  return [
    `${id}  ${state.padEnd(8)}  ${registeredAt}  ${focus ?? "-"}  ${email}  ${name}`,
    ...others.map((other) => {
      const what = other.wasRejected ? "rejected before" : "also applied";
      return `  ${what}  ${other.registeredAt}  ${other.focus ?? "-"}  ${other.name}`;
    }),
  ];
}

/** `applications accept`: accepts an application for access. */
export const applicationsAcceptCommand = defineStoreCommand({
  summary: "Accepts an application and tells the applicant by mail.",
  notes: [
    "Where SIGN_UP is `applications`, the applicant can then sign in. An API key is never mailed:",
    "hand it over by a way that you trust to reach the applicant, and nobody else.",
    ...queueTokenNotes,
  ],
  operands: { id: ApplicationArgument },
  options: {
    "with-key": {
      about: "make an API key as well, and show it, once",
      schema: z.boolean().optional(),
    },
    scopes: {
      value: "<scopes>",
      about: `what the key opens; unless given ${anonymousScopeCeiling.join(" ")}`,
      schema: ScopesArgument.optional(),
    },
  },
  rules: [
    {
      holds: (args) => args.scopes === undefined || args["with-key"] === true,
      option: "scopes",
      error: "is for the key of --with-key",
    },
  ],

  async run({ id, scopes, ...args }, context) {
    const wanted = scopes === undefined ? anonymousScopeCeiling : parseScopes(scopes);
    const keyScopes = args["with-key"] === true ? wanted : undefined;
    const decisions = decisionsOf(context, await outboxOf(context));
    const decision = await decisions.accept(id, keyScopes);
    if (decision === undefined) throw applicationNotFoundError(id);
    return acceptedOutcome(decision, keyScopes, context);
  },
});

/**
 * Note after an acceptance without a running service: the email contains no sign-in address,
 * because only a running service knows its address.
 */
const noAddress =
  "It names no address, since no service holds the store: tell the applicant where to sign in.";

function acceptedOutcome(
  { application: { id, email, name }, isNew, key }: ApplicationDecision,
  keyScopes: readonly Scope[] | undefined,
  { site }: CommandContext,
): CommandOutcome {
  const notes = [
    ...(key === undefined ? [] : newApiKeyNotes),
    ...(isNew ? ["The message to the applicant waits to be sent."] : []),
    ...(isNew && site === undefined ? [noAddress] : []),
    ...(!isNew && keyScopes ? ["No key was made; `key create` makes one."] : []),
  ];
  return {
    isGood: true,
    lines: [
      `${isNew ? "Accepted" : "Was accepted before:"} ${id}, ${email}, ${name}`,
      ...(key === undefined ? [] : ["Its key:", key]),
    ],
    result: { id, state: "accepted", isNew, ...(key !== undefined && { key, scopes: keyScopes }) },
    notes,
  };
}

/** `applications reject`: rejects an application for access. */
export const applicationsRejectCommand = defineStoreCommand({
  summary: "Rejects an application; no message is sent.",
  notes: ["An account or a key that the applicant has by then is not touched.", ...queueTokenNotes],
  operands: { id: ApplicationArgument },

  async run({ id: named }, context) {
    const decision = await decisionsOf(context).reject(named);
    if (decision === undefined) throw applicationNotFoundError(named);
    const { application, isNew } = decision;
    const { id, email, name } = application;
    return {
      isGood: true,
      lines: [`${isNew ? "Rejected" : "Was rejected before:"} ${id}, ${email}, ${name}`],
      result: { id, state: "rejected", isNew },
      notes: [],
    };
  },
});

/** `inquiries list`: lists the inquiries. */
export const inquiriesListCommand = defineStoreCommand({
  summary: "Shows the inquiries, the oldest first.",
  notes: ["Each is kept for 180 days. Nobody has checked whose addresses these are."],

  async run(_args, { store }) {
    const found = await readInquiries(store.records);
    const inquiries = found.map((each) => ({ ...each, receivedAt: isoOrNull(each.receivedAt) }));
    const lines = inquiries.flatMap(({ reference, receivedAt, email, message }, at) => [
      ...(at === 0 ? [] : [""]),
      `${reference}  ${receivedAt}  ${email}`,
      ...message.split("\n").map((line) => `  ${line}`),
    ]);
    return {
      isGood: true,
      lines: lines.length === 0 ? ["There are no inquiries."] : lines,
      result: { inquiries },
      notes: [],
    };
  },
});
