import { type AdapterPayload, Provider } from "oidc-provider";
import { fingerprint } from "../../lib/fingerprint.ts";
import { grantGroup } from "../../principals/accounts/grants.ts";
import type { Collection, RecordReader, Stored } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import type { ModelRecordRef } from "./adapter-context.ts";

/**
 * Length of the prefix that all refresh tokens of a family share, in characters: 132 random bits,
 * so that nobody can guess a family without having had one of its tokens.
 */
const SHARED_CHARACTERS = 22;

/** Maximum number of families under one grant. Starting another family revokes the oldest. */
const MAX_FAMILIES = 100;

/**
 * Page size that exceeds the number of stored tokens in a family, including tokens that two
 * processes write concurrently.
 */
const FAMILY_PAGE = 10;

/** Page size that exceeds the number of stored tokens under a grant, including replaced tokens. */
const GRANT_PAGE = 10_000;

/** Prefix of the group names of families. */
const GROUP_PREFIX = "refresh-chain:";

/**
 * The store group of a refresh token's family: the token, its predecessors and its successors (RFC
 * 9700 section 4.14.2).
 */
export const refreshTokenFamily = (token: string): string =>
  GROUP_PREFIX + fingerprint(token.slice(0, SHARED_CHARACTERS));

/** Makes each refresh token start with the same prefix as its predecessor. */
export function prefixRefreshTokens({ RefreshToken }: Provider): void {
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
 * Finds a stored token in the family of a presented token that is no longer stored. The presented
 * token was replaced long ago, so this is a replay.
 *
 * @returns `undefined` when the family does not exist.
 */
export async function findFamilyToken(
  records: RecordReader,
  { collection, family }: Pick<ModelRecordRef, "collection" | "family">,
): Promise<Stored<AdapterPayload> | undefined> {
  if (family === undefined) return undefined;
  return (await records.list(collection, { group: family, limit: FAMILY_PAGE })).at(-1);
}

/** Deletes all tokens of a family except the token in use and its successor. */
export async function deleteReplacedTokens(
  tx: Transaction,
  consumed: readonly ModelRecordRef[],
): Promise<void> {
  for (const { collection, key, family } of consumed) {
    if (family === undefined) continue;
    const tokens = await tx.list(collection, { group: family, limit: FAMILY_PAGE });
    const replaced = tokens.filter((token) => token.key !== key && token.consumedAt !== undefined);
    for (const token of replaced) tx.remove(collection, token.key);
  }
}

/** Revokes the oldest families of a grant to make room for another family. */
export async function evictTokenFamilies(
  tx: Transaction,
  { collection, grantId }: { collection: Collection<AdapterPayload>; grantId: string },
): Promise<void> {
  const tokens = await tx.list(collection, { group: grantGroup(grantId), limit: GRANT_PAGE });
  const usable = tokens.filter(({ consumedAt }) => consumedAt === undefined);
  for (const { key, groups } of usable.slice(0, Math.max(0, usable.length - MAX_FAMILIES + 1))) {
    const family = groups.find((group) => group.startsWith(GROUP_PREFIX));
    if (family === undefined) tx.remove(collection, key);
    else tx.removeGroup(family);
  }
}
