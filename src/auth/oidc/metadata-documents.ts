import { type ClientMetadata, Provider } from "oidc-provider";
import { type Networks, networksOf } from "../../limits/address-key.ts";
import { countForAll } from "../../limits/count-in-networks.ts";
import { type Counter, countInOrder } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/limits.ts";
import { refusalOf } from "../../limits/refusal.ts";
import type { Problem } from "../../problem.ts";
import { scopes } from "../scopes.ts";
import { LastGood, RecentFailures } from "./fetch-cache.ts";

/** Fetches like the global one. */
export type Fetch = typeof fetch;

/** The draft that the library must be told to have been read. */
const DRAFT = "draft-02";

/** Grants that a client by a metadata document can have: only those for which a person decides. */
export const documentGrantTypes: readonly string[] = ["authorization_code", "refresh_token"];

/** Whether a client is one by its metadata document: its id is the address. */
export function hasMetadataDocument(clientId: unknown): clientId is string {
  return typeof clientId === "string" && /^https:/i.test(clientId);
}

/** The metadata in a document, to be normalised like those of a registration: without what only a
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

/** Client ID Metadata Documents: clients of an address that the server looks at instead of a
 *  registration. How often it does is limited where it fetches (`limitedFetch`). */
export const documentClients = { enabled: true, ack: DRAFT } as const;

/** Who has a host asked. */
interface Asking {
  readonly host: string;
  /** The networks of the caller; `undefined` when no request is under way. */
  readonly networks: Networks | undefined;
}

/**
 * Fetches documents and key sets that clients name: from one address so often (`fetch-address`), at a
 * host where it failed for that address less often (`fetch-host`). A host is asked so often for one
 * site (`fetch-host-site`) and one provider (`fetch-host-provider`), and for all together so often that
 * this server is no weapon against it (`fetch-host-all`), of which each network has a share. What failed
 * is not tried again for a short time. Where a limit is reached, or a host fails for the moment, the
 * last good answer of an hour stands in. So nobody can keep the documents of a host from others.
 *
 * @throws {Problem} `rate_limited`
 */
export function limitedFetch(fetchGuarded: Fetch, limits: Limits): Fetch {
  const failures = new RecentFailures();
  const lastGood = new LastGood();
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const instead = (failure: unknown) => lastGood.of(url) ?? Promise.reject(failure);
    if (failures.has(url)) return instead(new Error(`${url} failed a moment ago`));
    const asking = { host: new URL(url).host, networks: networksOfCaller() };
    const refusal = await refusalFor(asking, limits);
    if (refusal !== undefined) return instead(refusal);
    const response = await fetchGuarded(input, init).catch((error: unknown) => error);
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

/** Whether an answer says nothing of what was asked for. */
const isPassing = ({ status }: Response): boolean => status === 429 || status >= 500;

function networksOfCaller(): Networks | undefined {
  const { ctx } = Provider;
  return ctx && networksOf(ctx.ip);
}

async function refusalFor(
  { host, networks }: Asking,
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

async function countFailure({ host, networks }: Asking, limits: Limits): Promise<void> {
  if (networks !== undefined) await limits.count("fetch-host", `${host} ${networks.address}`);
}
