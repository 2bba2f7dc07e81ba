import { isDeepStrictEqual } from "node:util";
import { type AdapterPayload, errors } from "oidc-provider";
import { consume, insert, replace, unchanged } from "../../store/port/operations.ts";
import type { Collection, Operation, Stored } from "../../store/port/records.ts";
import { storeUnavailable } from "../../store/port/unavailable.ts";
import { type GrantRecord, grants, withoutFamily } from "../accounts/grants.ts";
import { type ClientRecord, clients } from "../agents/agent.ts";
import type { AdapterContext } from "./adapter-context.ts";
import { type Beneficiary, whileUnchanged } from "./client-lifetime.ts";
import { isByDocument } from "./metadata-documents.ts";
import { roomForChain, survivorOf, withoutReplaced } from "./refresh-token-families.ts";
import type { Reads } from "./request-state.ts";

/** Where a record of a model is kept. */
export interface Place {
  readonly model: string;
  readonly documents: Collection<AdapterPayload>;
  readonly key: string;
  /** Group of a refresh token and those that replace each other with it (`chainOf`). */
  readonly chain?: string | undefined;
}

/** A record that is about to be written. */
export interface Document extends Place {
  readonly value: AdapterPayload;
  readonly groups: readonly string[];
  readonly ttlMs?: number;
}

/** What one request uses up and what it is given for it. */
export interface Exchange {
  /** Codes and refresh tokens, each good for one use. */
  readonly uses: readonly Place[];
  /** Grants, codes and tokens. */
  readonly documents: readonly Document[];
  /** What is written only together with them. */
  readonly steps?: readonly Operation[];
  /** Asked before an access token is written. */
  readonly admitToken?: AdmitToken | undefined;
}

/** Who a token is about to be given to. */
interface Recipient {
  readonly clientId: string;
  /** The person that it is for or, where it is the client's own, who answers for the client; absent:
   *  it is an agent that nobody has claimed. */
  readonly accountId: string | undefined;
}

/** Decides whether a token is given to a client, which has proven who it is.
 *  @throws {Problem} `rate_limited` */
export type AdmitToken = (recipient: Recipient) => Promise<void>;

/** What an exchange rests on. */
interface Basis {
  /** `undefined` for clients that are not registered but came by a document. */
  readonly client: Stored<ClientRecord> | undefined;
  readonly grants: readonly Stored<GrantRecord>[];
}

/**
 * Makes an exchange in one commit, which holds only while its client and its grants are as they were
 * when the request looked at them. So nothing is issued to a client that was deleted, claimed or
 * changed in between, nor under a grant that was ended or changed; a grant that was ended does not
 * come back, nor is a change of it lost; and a code or refresh token is used up if and only if what it
 * was used for was issued.
 *
 * @param reads What the request has looked at.
 * @throws `unauthorized_client` before the claim of an agent that needs one; `invalid_client` when the
 *   client is gone; `invalid_grant` when the grant is gone, or the one to be written was changed or
 *   ended meanwhile, or a code or refresh token was used before, which ends everything that came of it.
 * @throws {Problem} `store_unavailable` when the client or grant was changed: another try will do;
 *   what `admitToken` throws, and then nothing was used up.
 */
export async function issue(
  exchange: Exchange,
  reads: Reads,
  context: AdapterContext,
): Promise<void> {
  const { records, now } = context;
  let basis = await basisOf(exchange, reads, context);
  checkMayAct(exchange, basis);
  const recipient = recipientOf(exchange, basis);
  if (recipient !== undefined) await exchange.admitToken?.(recipient);
  const bounds = await boundsOf(exchange, context);
  const steps = () => [...stepsOf(exchange, basis, { reads, now: now() }), ...bounds];
  while (!(await records.commit(steps()))) {
    await checkUses(exchange, context);
    const present = await basisOf(exchange, undefined, context);
    checkChange(basis, present);
    basis = present;
  }
}

/** An agent that came for one person only can do nothing before that person has claimed it
 *  (architecture section 7). RFC 6749 section 5.2: it is who it says, and not authorized. */
function checkMayAct({ documents }: Exchange, { client }: Basis): void {
  const { identityType, owner } = client?.value.agent ?? {};
  if (identityType !== "service_auth" || owner !== undefined) return;
  if (documents.every(({ model }) => model === "Grant")) return;
  const advice = "a person must claim this agent first; it begins that at /oauth/claim/start";
  throw new errors.UnauthorizedClient(advice);
}

function stepsOf(
  exchange: Exchange,
  basis: Basis,
  { reads, now }: { readonly reads: Reads; readonly now: Date },
): readonly Operation[] {
  const { uses, documents, steps = [] } = exchange;
  const guard = basis.client && whileUnchanged(basis.client, beneficiaryOf(documents), now);
  return [
    ...(guard === undefined ? [] : [guard]),
    ...basis.grants.map((grant) => unchanged(grants, grant)),
    ...uses.map((use) => consume(use.documents, use.key)),
    ...documents.map((document) => written(document, reads)),
    ...steps,
  ];
}

/** The steps that bound how many refresh tokens are kept. */
async function boundsOf(
  { uses, documents }: Exchange,
  { records }: AdapterContext,
): Promise<readonly Operation[]> {
  const replaced = await withoutReplaced(records, uses);
  const isReplacing = uses.some(({ chain }) => chain !== undefined);
  const begun = documents.find(({ model }) => model === "RefreshToken");
  const grantId = begun?.value.grantId;
  if (begun === undefined || grantId === undefined || isReplacing) return replaced;
  return roomForChain(records, { documents: begun.documents, grantId });
}

/** Only a grant that the request has read is written again, to be extended; anything else would be made
 *  good for another use. */
function written({ model, documents, ...record }: Document, reads: Reads): Operation {
  const known = model === "Grant" ? reads.grants.get(record.key) : undefined;
  if (known === undefined) return insert(documents, record);
  const { key: _, ...rest } = record;
  return replace(documents, known, { ttlMs: null, ...rest });
}

/** @returns `undefined` when no access token is given. */
function recipientOf({ documents }: Exchange, { client }: Basis): Recipient | undefined {
  const token = documents.find(({ model }) => accessTokens.includes(model));
  if (token === undefined) return undefined;
  const { clientId = "", accountId } = token.value;
  return { clientId, accountId: accountId ?? client?.value.agent.owner?.accountId };
}

/** Models of the tokens that open something. */
const accessTokens: readonly string[] = ["AccessToken", "ClientCredentials"];

function beneficiaryOf(documents: readonly Document[]): Beneficiary | undefined {
  const token = documents.find(({ model }) => model === "AccessToken");
  if (token?.value.accountId !== undefined) return "person";
  const own = token ?? documents.find(({ model }) => model === "ClientCredentials");
  return own === undefined ? undefined : "client";
}

async function basisOf(
  { documents }: Exchange,
  reads: Reads | undefined,
  { records }: AdapterContext,
): Promise<Basis> {
  const clientId = documents[0]?.value.clientId ?? "";
  const findClient = async () => {
    if (isByDocument(clientId)) return undefined;
    const client = reads?.clients.get(clientId) ?? (await records.get(clients, clientId));
    return client ?? gone(new errors.InvalidClientAuth("client gone"));
  };
  const findGrant = async (grantId: string) => {
    const grant = reads?.grants.get(grantId) ?? (await records.get(grants, grantId));
    return grant ?? gone(new errors.InvalidGrant("grant gone"));
  };
  const [client, ...found] = await Promise.all([
    findClient(),
    ...grantsOf(documents).map(findGrant),
  ]);
  return { client, grants: found };
}

/** The grants that documents rest on and that are not written together with them. */
function grantsOf(documents: readonly Document[]): readonly string[] {
  const written = documents.filter(({ model }) => model === "Grant").map(({ key }) => key);
  const needed = documents.flatMap(({ value }) => value.grantId ?? []);
  return [...new Set(needed)].filter((grantId) => !written.includes(grantId));
}

function gone(error: Error): never {
  throw error;
}

/** Of several exchanges of one code or refresh token, all but the first end here. */
async function checkUses({ uses }: Exchange, context: AdapterContext): Promise<void> {
  for (const use of uses) {
    const kept = await context.records.get(use.documents, use.key);
    if (kept !== undefined && kept.consumedAt === undefined) continue;
    const stored = kept ?? (await survivorOf(context.records, use));
    if (stored !== undefined) await endReplayed(use, stored.value, context);
    throw new errors.InvalidGrant("used before");
  }
}

/** Ends everything that came of a code or refresh token that was presented again: one of the two
 *  who have it is a thief (RFC 6749 sections 4.1.2 and 10.4). */
export async function endReplayed(
  { model, key }: Place,
  { grantId, clientId }: AdapterPayload,
  { records, audit }: AdapterContext,
): Promise<void> {
  const entry = { action: "grant.replayed", actor: String(clientId), target: `${model}:${key}` };
  await records.commit([...(await withoutFamily(records, grantId)), ...audit(entry)]);
}

/** What was decided on other facts must not be kept; a longer life or another registration token of
 *  the client changes nothing that was decided. */
function checkChange(before: Basis, present: Basis): void {
  const facts = (basis: Basis) => [basis.client, ...basis.grants].map((each) => each?.value);
  if (!isDeepStrictEqual(facts(before), facts(present))) {
    throw storeUnavailable("The client, or what a person allowed it, changed at this moment.");
  }
  const revisions = (basis: Basis) => [basis.client, ...basis.grants].map((each) => each?.revision);
  if (isDeepStrictEqual(revisions(before), revisions(present))) {
    throw new errors.InvalidGrant("issued before");
  }
}
