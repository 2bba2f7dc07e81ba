import { z } from "zod";
import type { ApiKey } from "../../auth/keys/api-keys.ts";
import { defineCommand } from "../command.ts";
import { apiKeysOf, isoOrNull } from "./parts.ts";

/** Says which API keys there are. */
export const keyList = defineCommand({
  summary: "Lists the API keys: the first characters, whose, what for and when used.",
  notes: ["Whoever applies in the sandbox has a key too, for a week."],
  options: {},
  args: z.strictObject({}),

  async run(_args, context) {
    const keys = (await apiKeysOf(context).list()).map(keyFacts);
    return {
      isGood: true,
      text: keys.map(keyText).join("\n") || "There are no API keys.",
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
