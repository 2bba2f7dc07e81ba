import { z } from "zod";
import { scopeDescriptions } from "../../access/scopes.ts";
import { DAY_MS } from "../../lib/day.ts";
import { Label } from "../../lib/label.ts";
import type { ApiKey } from "../../principals/keys/api-keys.ts";
import { defineStoreCommand } from "../command.ts";
import { apiKeysOf, isoOrNull, newApiKeyNotes, parseScopes, ScopesArgument } from "./shared.ts";

/** Maximum lifetime of a key, in days. */
const MAX_DAYS = 3650;

/** `key create`: creates an API key. */
export const apiKeyCreateCommand = defineStoreCommand({
  summary: "Makes an API key and shows it, once.",
  notes: [`Scopes: ${Object.keys(scopeDescriptions).join(", ")}.`],
  options: {
    name: { value: "<name>", about: "whom or what it is for", schema: Label },
    scopes: {
      value: "<scopes>",
      about: "what it opens, separated by spaces",
      schema: ScopesArgument,
    },
    days: {
      value: "<n>",
      about: "how long it is good for; until it is revoked unless given",
      schema: z.coerce
        .number(`must be a whole number from 1 to ${MAX_DAYS}`)
        .refine(
          (days) => Number.isInteger(days) && days >= 1 && days <= MAX_DAYS,
          `must be a whole number from 1 to ${MAX_DAYS}`,
        )
        .optional(),
    },
  },

  async run({ name, scopes, days }, context) {
    const ttlMs = days === undefined ? undefined : days * DAY_MS;
    const { id, key } = await apiKeysOf(context).create({
      name,
      scopes: parseScopes(scopes),
      actor: "operator",
      ...(ttlMs !== undefined && { ttlMs }),
    });
    const expiresAt = isoOrNull(ttlMs === undefined ? undefined : context.now() + ttlMs);
    const life = expiresAt === null ? "until it is revoked" : `until ${expiresAt}`;
    return {
      isGood: true,
      lines: [`Key ${id} for ${name}, good ${life}:`, key],
      result: { id, key, name, scopes: parseScopes(scopes), expiresAt },
      notes: newApiKeyNotes,
    };
  },
});

/** `key list`: lists the API keys. */
export const apiKeyListCommand = defineStoreCommand({
  summary: "Lists the API keys: the first characters, whose, what for and when used.",
  notes: ["Whoever applies in the sandbox has a key too, for a week."],

  async run(_args, context) {
    const keys = (await apiKeysOf(context).list()).map(keyFacts);
    return {
      isGood: true,
      lines: keys.length === 0 ? ["There are no API keys."] : keys.map(keyText),
      result: { keys },
      notes: [],
    };
  },
});

function keyFacts({ accountId, createdAt, expiresAt, lastUsedAt, ...facts }: ApiKey) {
  return {
    ...facts,
    accountId: accountId ?? null,
    createdAt: isoOrNull(createdAt),
    expiresAt: isoOrNull(expiresAt),
    lastUsedAt: isoOrNull(lastUsedAt),
  };
}

function keyText(key: ReturnType<typeof keyFacts>): string {
  const { id, hint, name, scopes, accountId, createdAt, expiresAt, lastUsedAt } = key;
  const times = [
    `made ${createdAt}`,
    expiresAt === null ? "no end" : `ends ${expiresAt}`,
    lastUsedAt === null ? "never used" : `used ${lastUsedAt}`,
  ];
  const owner = accountId ?? "operator";
  return `${id}  ${hint}...  ${times.join(", ")}  ${owner}  ${scopes.join(" ")}  ${name}`;
}

/** `key revoke`: revokes an API key. */
export const apiKeyRevokeCommand = defineStoreCommand({
  summary: "Ends an API key at once, whoever has it.",
  notes: ["The id is what `key list` and `key create` say, never the key itself."],
  operands: { id: z.string("name a key").startsWith("key_", "must start with key_") },

  async run({ id }, context) {
    if (!(await apiKeysOf(context).revoke(id, "operator"))) {
      throw new Error(`There is no key ${id}.`);
    }
    return { isGood: true, lines: [`Revoked ${id}.`], result: { id, revoked: true }, notes: [] };
  },
});
