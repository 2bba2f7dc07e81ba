import { type ClientMetadata, Provider } from "oidc-provider";
import { scopeDescriptions } from "../../access/scopes.ts";
import type { Problem } from "../../lib/problem.ts";
import { type NetworkKeys, networkKeysOf } from "../../limits/address-key.ts";
import { countInSharedQuota } from "../../limits/count-in-networks.ts";
import { countAgainstQuotasInOrder, type QuotaCounter } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/quotas.ts";
import { rateLimitProblem } from "../../limits/rate-limit-problem.ts";
import { ConcurrentFetches } from "./concurrent-fetches.ts";
import { LastGoodResponses, RecentFailures } from "./fetch-cache.ts";

/** The type of the global `fetch`. */
export type GlobalFetch = typeof fetch;

/** Version of the Client ID Metadata Document draft; oidc-provider requires its acknowledgment. */
const DRAFT = "draft-02";

/**
 * Grant types of a client with a metadata document: only grant types in which a person decides on
 * the access.
 */
export const metadataDocumentGrantTypes: readonly string[] = [
  "authorization_code",
  "refresh_token",
];

/**
 * Whether a client has a metadata document, that is, whether its client id is the URL of a
 * document.
 */
export function hasMetadataDocument(clientId: unknown): clientId is string {
  return typeof clientId === "string" && /^https:/i.test(clientId);
}

/**
 * Prepares the metadata of a document for normalization: removes grant types that only registered
 * clients may have, and adds all scopes if the document lists none.
 */
export function prepareDocumentMetadata(document: ClientMetadata): ClientMetadata {
  const requested: unknown = document.grant_types;
  const isList = Array.isArray(requested);
  return {
    ...document,
    grant_types: isList
      ? requested.filter((type) => metadataDocumentGrantTypes.includes(type))
      : [...metadataDocumentGrantTypes],
    scope: document.scope ?? Object.keys(scopeDescriptions).join(" "),
  };
}

/**
 * oidc-provider setting for Client ID Metadata Documents: the server fetches a client's metadata
 * from a URL instead of registering the client. `createLimitedFetch` limits the rate of these
 * fetches.
 */
export const metadataDocumentFeature = { enabled: true, ack: DRAFT } as const;

/** The target host of a fetch, and the networks of the caller that caused it. */
interface FetchOrigin {
  readonly host: string;
  /** The networks of the caller; `undefined` outside a request. */
  readonly networks: NetworkKeys | undefined;
}

/**
 * Creates the fetch function for metadata documents and key sets at URLs that clients supply.
 * Fetches are limited per address (`fetch-address`); more strictly for a host that failed for that
 * address (`fetch-host`); per host and site (`fetch-host-site`); per host and provider network
 * (`fetch-host-provider`); per host in total, so that this server cannot be used to attack the host
 * (`fetch-host-all`, of which each network has a share); and by the number of concurrent fetches
 * (`ConcurrentFetches`).
 *
 * A URL that failed is not fetched again for a short time. When a limit is reached, or a host fails
 * temporarily, the last successful response of the past hour is used, so that nobody can block the
 * clients of a host.
 *
 * @throws {Problem} `rate_limited`
 */
export function createLimitedFetch(fetchGuarded: GlobalFetch, limits: Limits): GlobalFetch {
  const failures = new RecentFailures();
  const lastGood = new LastGoodResponses();
  const underWay = new ConcurrentFetches();
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const instead = (failure: unknown) => lastGood.get(url) ?? Promise.reject(failure);
    if (failures.has(url)) return instead(new Error(`${url} failed a moment ago`));
    const asking = { host: new URL(url).host, networks: networksOfCaller() };
    const network = widestNetworkOf(asking);
    const refusal = (await limitProblem(asking, limits)) ?? underWay.limitProblem(network);
    if (refusal !== undefined) return instead(refusal);
    const response = await underWay
      .run(network, () => fetchGuarded(input, init))
      .catch((error: unknown) => error);
    if (response instanceof Response && response.status === 200) {
      return lastGood.store(url, response);
    }
    failures.add(url);
    await countFailure(asking, limits);
    if (!(response instanceof Response)) return instead(response);
    if (isTemporaryFailure(response)) return lastGood.get(url) ?? response;
    lastGood.delete(url);
    return response;
  };
}

/** Whether a response is a temporary failure, which says nothing about the document. */
const isTemporaryFailure = ({ status }: Response): boolean => status === 429 || status >= 500;

const widestNetworkOf = ({ networks }: FetchOrigin): string =>
  networks?.provider ?? networks?.site ?? "";

function networksOfCaller(): NetworkKeys | undefined {
  const { ctx } = Provider;
  return ctx && networkKeysOf(ctx.ip);
}

async function limitProblem(
  { host, networks }: FetchOrigin,
  limits: Limits,
): Promise<Problem | undefined> {
  const ofAll: QuotaCounter = ["fetch-host-all", host];
  if (networks === undefined) return rateLimitProblem([await limits.count(...ofAll)]);
  const { address, site, provider } = networks;
  const failed = await limits.peek("fetch-host", `${host} ${address}`);
  if (failed.isExceeded) return rateLimitProblem([failed]);
  const counted = await countAgainstQuotasInOrder(limits, [
    ["fetch-address", address],
    ["fetch-host-site", `${host} ${site}`],
    ...(provider === undefined ? [] : [["fetch-host-provider", `${host} ${provider}`] as const]),
  ]);
  const isOver = counted.some(({ isExceeded }) => isExceeded);
  return rateLimitProblem(
    isOver ? counted : [await countInSharedQuota(limits, counted.slice(1), ofAll)],
  );
}

async function countFailure({ host, networks }: FetchOrigin, limits: Limits): Promise<void> {
  if (networks !== undefined) await limits.count("fetch-host", `${host} ${networks.address}`);
}
