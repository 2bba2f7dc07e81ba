import { type AdapterPayload, Provider } from "oidc-provider";
import { fingerprint } from "../../lib/fingerprint.ts";
import { remove, removeGroup } from "../../store/port/operations.ts";
import type { Collection, Operation, Records, Stored } from "../../store/port/records.ts";
import { underGrant } from "../accounts/grants.ts";

/** Characters at the start of a refresh token that those which replace it share: 132 random bits, so
 *  that nobody can name a chain who never held a token of it. */
const SHARED_CHARACTERS = 22;

/** Chains that a client can have under one grant. With the next one, the oldest ends. */
const MAX_CHAINS = 100;

/** More tokens than a chain has, beside what two processes may write at once. */
const CHAIN_PAGE = 10;

const CHAIN = "refresh-chain:";

/** Group of a refresh token, of what it replaced and of what replaces it (RFC 9700 section 4.14.2). */
export const chainOf = (token: string): string =>
  CHAIN + fingerprint(token.slice(0, SHARED_CHARACTERS));

/** A refresh token that is used up. */
interface Use {
  readonly documents: Collection<AdapterPayload>;
  readonly key: string;
  /** Its group; absent for a code. */
  readonly chain?: string | undefined;
}

/** Has each refresh token start like the one that it replaces. */
export function chainRefreshTokens({ RefreshToken }: Provider): void {
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
 * A token of a chain, for what was presented and is not kept any more: it was replaced long ago, so that
 * it is a replay like the one that was replaced last. @returns `undefined` when there is no such chain.
 */
export async function survivorOf(
  records: Pick<Records, "list">,
  { documents, chain }: Omit<Use, "key">,
): Promise<Stored<AdapterPayload> | undefined> {
  if (chain === undefined) return undefined;
  return (await records.list(documents, { group: chain, limit: CHAIN_PAGE })).at(-1);
}

/** The steps that leave of each chain no more than the token being used and the one that replaces it. */
export async function withoutReplaced(
  records: Pick<Records, "list">,
  uses: readonly Use[],
): Promise<readonly Operation[]> {
  const steps = uses.map(async ({ documents, key, chain }) => {
    if (chain === undefined) return [];
    const kept = await records.list(documents, { group: chain, limit: CHAIN_PAGE });
    const replaced = kept.filter((token) => token.key !== key && token.consumedAt !== undefined);
    return replaced.map((token) => remove(documents, token.key));
  });
  return (await Promise.all(steps)).flat();
}

/** The steps that end the oldest chains of a grant, so that there is room for another one. */
export async function roomForChain(
  records: Pick<Records, "list">,
  { documents, grantId }: Pick<Use, "documents"> & { readonly grantId: string },
): Promise<readonly Operation[]> {
  const kept = await records.list(documents, { group: underGrant(grantId), limit: 10_000 });
  const usable = kept.filter(({ consumedAt }) => consumedAt === undefined);
  const over = usable.slice(0, Math.max(0, usable.length - MAX_CHAINS + 1));
  return over.map(({ key, groups }) => {
    const chain = groups.find((group) => group.startsWith(CHAIN));
    return chain === undefined ? remove(documents, key) : removeGroup(chain);
  });
}
