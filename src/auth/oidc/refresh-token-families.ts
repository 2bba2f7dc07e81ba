import { type AdapterPayload, Provider } from "oidc-provider";
import { fingerprint } from "../../lib/fingerprint.ts";
import { remove, removeGroup } from "../../store/port/operations.ts";
import type { Collection, Operation, Records, Stored } from "../../store/port/records.ts";
import { grantGroup } from "../accounts/grants.ts";
import type { RecordRef } from "./adapter-context.ts";

/** Characters at the start of a refresh token that the tokens which replace it share: 132 random bits,
 *  so that nobody can name a family without having held a token of it. */
const SHARED_CHARACTERS = 22;

/** Families that a client can have under one grant. With the next one, the oldest ends. */
const MAX_FAMILIES = 100;

/** More tokens than a family has, beside what two processes may write at once. */
const FAMILY_PAGE = 10;

/** More tokens than a grant has, replaced ones included. */
const GRANT_PAGE = 10_000;

const FAMILY = "refresh-chain:";

/** Group of a refresh token family: a token, those it replaced and those that replace it (RFC 9700
 *  section 4.14.2). */
export const familyOf = (token: string): string =>
  FAMILY + fingerprint(token.slice(0, SHARED_CHARACTERS));

/** Makes each refresh token start like the one that it replaces. */
export function keepRefreshTokenFamilies({ RefreshToken }: Provider): void {
  const { prototype } = RefreshToken as unknown as {
    readonly prototype: { generateTokenId(): string };
  };
  const { generateTokenId } = prototype;
  prototype.generateTokenId = function () {
    const before = Provider.ctx?.oidc.entities.RotatedRefreshToken?.jti;
    const start = before ?? generateTokenId.call(this);
    return start.slice(0, SHARED_CHARACTERS) + generateTokenId.call(this);
  };
}

/**
 * A token of the family of one that was presented and is not stored any more. Such a token was replaced
 * long ago, so presenting it is a replay, as it is for the one replaced last.
 *
 * @returns `undefined` when there is no such family.
 */
export async function survivorOf(
  records: Records,
  { collection, family }: Pick<RecordRef, "collection" | "family">,
): Promise<Stored<AdapterPayload> | undefined> {
  if (family === undefined) return undefined;
  return (await records.list(collection, { group: family, limit: FAMILY_PAGE })).at(-1);
}

/** The steps that leave of each family only the token being used and the one that replaces it. */
export async function replacedTokensRemoval(
  records: Records,
  consumed: readonly RecordRef[],
): Promise<readonly Operation[]> {
  const steps = consumed.map(async ({ collection, key, family }) => {
    if (family === undefined) return [];
    const tokens = await records.list(collection, { group: family, limit: FAMILY_PAGE });
    const replaced = tokens.filter((token) => token.key !== key && token.consumedAt !== undefined);
    return replaced.map((token) => remove(collection, token.key));
  });
  return (await Promise.all(steps)).flat();
}

/** The steps that end the oldest families of a grant, so that there is room for another one. */
export async function familyEviction(
  records: Records,
  { collection, grantId }: { collection: Collection<AdapterPayload>; grantId: string },
): Promise<readonly Operation[]> {
  const tokens = await records.list(collection, { group: grantGroup(grantId), limit: GRANT_PAGE });
  const usable = tokens.filter(({ consumedAt }) => consumedAt === undefined);
  const over = usable.slice(0, Math.max(0, usable.length - MAX_FAMILIES + 1));
  return over.map(({ key, groups }) => {
    const family = groups.find((group) => group.startsWith(FAMILY));
    return family === undefined ? remove(collection, key) : removeGroup(family);
  });
}
