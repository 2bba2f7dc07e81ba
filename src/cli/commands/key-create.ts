import { z } from "zod";
import { Label } from "../../auth/keys/label.ts";
import { scopes } from "../../auth/scopes.ts";
import { defineCommand } from "../command.ts";
import { apiKeysOf, isoOrNull, newKeyNotes, ScopesArgument, scopesIn } from "./parts.ts";

const DAY_MS = 86_400_000;

/** Longest life that can be given to a key, in days. */
const MAX_DAYS = 3650;

/** Makes an API key. */
export const keyCreate = defineCommand({
  summary: "Makes an API key and shows it, once.",
  notes: [`Scopes: ${Object.keys(scopes).join(", ")}.`],
  options: {
    name: { value: "<name>", isRequired: true, about: "whom or what it is for" },
    scopes: { value: "<scopes>", isRequired: true, about: "what it opens, separated by spaces" },
    days: { value: "<n>", about: "how long it is good for; until it is revoked unless given" },
  },
  args: z.strictObject({
    name: Label,
    scopes: ScopesArgument,
    days: z.coerce
      .number(`must be a whole number from 1 to ${MAX_DAYS}`)
      .refine(
        (days) => Number.isInteger(days) && days >= 1 && days <= MAX_DAYS,
        `must be a whole number from 1 to ${MAX_DAYS}`,
      )
      .optional(),
  }),

  async run({ name, scopes, days }, context) {
    const ttlMs = days === undefined ? undefined : days * DAY_MS;
    const { id, key } = await apiKeysOf(context).create({
      ...{ name, scopes: scopesIn(scopes), by: "operator" },
      ...(ttlMs !== undefined && { ttlMs }),
    });
    const expiresAt = isoOrNull(ttlMs === undefined ? undefined : context.now() + ttlMs);
    const life = expiresAt === null ? "until it is revoked" : `until ${expiresAt}`;
    return {
      isGood: true,
      text: `Key ${id} for ${name}, good ${life}:\n${key}`,
      result: { id, key, name, scopes: scopesIn(scopes), expiresAt },
      notes: newKeyNotes,
    };
  },
});
