import { type ClientMetadata, Provider } from "oidc-provider";
import { scopeDescriptions } from "../../access/scopes.ts";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import { concurrencyClasses } from "../../limits/classes.ts";
import { Concurrency } from "../../limits/concurrency.ts";
import type { Limits, Party } from "../../limits/limits.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { countedHost } from "../../outbound/url-policy.ts";
import { LastGoodResponses, RecentFailures } from "./fetch-cache.ts";

/** The type of the global `fetch`. */
export type GlobalFetch = typeof fetch;

/** `Retry-After` of a request whose fetch found no room, in seconds; every fetch ends within it. */
const RETRY_SECONDS = 3;

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

/**
 * Creates the fetch function for metadata documents and key sets at URLs that clients supply.
 * Fetches are limited per host (`host-requests`), so that this server cannot be used to attack one;
 * to any host (`document-fetches`); and by what is under way (`fetches`).
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
  const underWay = new Concurrency(concurrencyClasses.fetches);
  /** Fetches within the limits. @throws {Problem} `rate_limited` */
  const fetchWithinLimits = async (
    ...[input, init]: Parameters<GlobalFetch>
  ): Promise<Response> => {
    const party = partyAt(Provider.ctx?.ip);
    if (underWay.refusing(party) !== undefined) throw tooManyFetches();
    // Entered before anything is awaited, so that of many fetches at once none passes the number.
    const leave = underWay.enter(party);
    try {
      await requireFetch(countedHost(urlOf(input)), party, limits);
      return await fetchGuarded(input, init);
    } finally {
      leave();
    }
  };
  return async (input, init) => {
    const url = urlOf(input);
    const instead = (failure: unknown) => lastGood.get(url) ?? Promise.reject(failure);
    if (failures.has(url)) return instead(new Error(`${url} failed a moment ago`));
    const response = await fetchWithinLimits(input, init).catch((error: unknown) => error);
    if (isRateLimited(response)) return instead(response);
    if (response instanceof Response && response.status === 200) {
      return lastGood.store(url, response);
    }
    failures.add(url);
    if (!(response instanceof Response)) return instead(response);
    if (isTemporaryFailure(response)) return lastGood.get(url) ?? response;
    lastGood.delete(url);
    return response;
  };
}

const urlOf = (input: Parameters<GlobalFetch>[0]): string =>
  input instanceof Request ? input.url : String(input);

const isRateLimited = (failure: unknown): boolean =>
  failure instanceof Problem && failure.code === "rate_limited";

/** Whether a response is a temporary failure, which says nothing about the document. */
const isTemporaryFailure = ({ status }: Response): boolean => status === 429 || status >= 500;

/** @throws {Problem} `rate_limited` */
async function requireFetch(target: string, party: Party, limits: Limits): Promise<void> {
  await requireAdmission(limits, "document-fetches", party);
  await requireAdmission(limits, "host-requests", { ...party, target });
}

const tooManyFetches = (): Problem =>
  new Problem("rate_limited", {
    detail: "Too many client documents are being fetched for your network.",
    next: `Retry in ${RETRY_SECONDS} seconds.`,
    headers: { "Retry-After": String(RETRY_SECONDS) },
  });
