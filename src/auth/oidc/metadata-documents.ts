import { type ClientMetadata, Provider } from "oidc-provider";
import { type Networks, networksOf } from "../../limits/address-key.ts";
import { countForAll } from "../../limits/count-in-networks.ts";
import { type Counter, countInOrder } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/limits.ts";
import { refusalOf } from "../../limits/refusal.ts";
import type { Problem } from "../../problem.ts";
import { scopes } from "../scopes.ts";
import { ConcurrentFetches } from "./concurrent-fetches.ts";
import { LastGoodResponses, RecentFailures } from "./fetch-cache.ts";

/** Fetches like the global one. */
export type Fetch = typeof fetch;

/** The draft that oidc-provider wants to see acknowledged. */
const DRAFT = "draft-02";

/** Grant types of a client with a metadata document: only those for which a person decides. */
export const documentGrantTypes: readonly string[] = ["authorization_code", "refresh_token"];

/** Whether a client has a metadata document: then its id is the address of the document. */
export function hasMetadataDocument(clientId: unknown): clientId is string {
  return typeof clientId === "string" && /^https:/i.test(clientId);
}

/** The metadata in a document, to be normalized like those of a registration: without what only a
 *  registered client may do, and with all scopes to ask a person for when it names none. */
export function documentMetadata(document: ClientMetadata): ClientMetadata {
  const asked: unknown = document.grant_types;
  const isList = Array.isArray(asked);
  return {
    ...document,
    grant_types: isList
      ? asked.filter((type) => documentGrantTypes.includes(type))
      : [...documentGrantTypes],
    scope: document.scope ?? Object.keys(scopes).join(" "),
  };
}

/** Client ID Metadata Documents: the server fetches the metadata of such a client from an
 *  address instead of registering it. `limitedFetch` limits how often. */
export const documentClients = { enabled: true, ack: DRAFT } as const;

/** A fetch that a request causes. */
interface DocumentRequest {
  readonly host: string;
  /** The networks of the caller; `undefined` when no request is under way. */
  readonly networks: Networks | undefined;
}

/**
 * Fetches metadata documents and key sets that clients name, within limits: per address (`fetch-
 * address`), fewer at a host that failed for that address (`fetch-host`), per host and site
 * (`fetch-host-site`), per host and provider (`fetch-host-provider`), and per host in all, so that
 * this server is no weapon against it (`fetch-host-all`, of which each network has a share); and so
 * many at once (`ConcurrentFetches`).
 *
 * A failed address is not fetched again for a short time. Where a limit is reached, or a host fails
 * temporarily, the last good response of the past hour is used, so that nobody can cut a host's
 * clients off.
 *
 * @throws {Problem} `rate_limited`
 */
export function limitedFetch(fetchGuarded: Fetch, limits: Limits): Fetch {
  const failures = new RecentFailures();
  const lastGood = new LastGoodResponses();
  const underWay = new ConcurrentFetches();
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const instead = (failure: unknown) => lastGood.of(url) ?? Promise.reject(failure);
    if (failures.has(url)) return instead(new Error(`${url} failed a moment ago`));
    const asking = { host: new URL(url).host, networks: networksOfCaller() };
    const network = widestOf(asking);
    const refusal = (await refusalFor(asking, limits)) ?? underWay.refusalFor(network);
    if (refusal !== undefined) return instead(refusal);
    const response = await underWay
      .run(network, () => fetchGuarded(input, init))
      .catch((error: unknown) => error);
    if (response instanceof Response && response.status === 200) {
      return lastGood.store(url, response);
    }
    failures.note(url);
    await countFailure(asking, limits);
    if (!(response instanceof Response)) return instead(response);
    if (isPassing(response)) return lastGood.of(url) ?? response;
    lastGood.forget(url);
    return response;
  };
}

/** Whether a response is a temporary failure, which says nothing about the document. */
const isPassing = ({ status }: Response): boolean => status === 429 || status >= 500;

const widestOf = ({ networks }: DocumentRequest): string =>
  networks?.provider ?? networks?.site ?? "";

function networksOfCaller(): Networks | undefined {
  const { ctx } = Provider;
  return ctx && networksOf(ctx.ip);
}

async function refusalFor(
  { host, networks }: DocumentRequest,
  limits: Limits,
): Promise<Problem | undefined> {
  const ofAll: Counter = ["fetch-host-all", host];
  if (networks === undefined) return refusalOf([await limits.count(...ofAll)]);
  const { address, site, provider } = networks;
  const failed = await limits.look("fetch-host", `${host} ${address}`);
  if (failed.isExceeded) return refusalOf([failed]);
  const counted = await countInOrder(limits, [
    ["fetch-address", address],
    ["fetch-host-site", `${host} ${site}`],
    ...(provider === undefined ? [] : [["fetch-host-provider", `${host} ${provider}`] as const]),
  ]);
  const isOver = counted.some(({ isExceeded }) => isExceeded);
  return refusalOf(isOver ? counted : [await countForAll(limits, counted.slice(1), ofAll)]);
}

async function countFailure({ host, networks }: DocumentRequest, limits: Limits): Promise<void> {
  if (networks !== undefined) await limits.count("fetch-host", `${host} ${networks.address}`);
}
