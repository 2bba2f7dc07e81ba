import { type ClientMetadata, Provider } from "oidc-provider";
import { type Networks, networksOf } from "../../limits/address-key.ts";
import { type Counter, countInOrder } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/limits.ts";
import { refusalOf } from "../../limits/refusal.ts";
import { scopes } from "../scopes.ts";
import { createRecentFailures } from "./recent-failures.ts";

/** Fetches like the global one. */
export type Fetch = typeof fetch;

/** The draft that the library must be told to have been read. */
const DRAFT = "draft-02";

/** Grants that a client by a metadata document can have: only those for which a person decides. */
export const documentGrantTypes: readonly string[] = ["authorization_code", "refresh_token"];

/** Whether a client is one by its metadata document: its id is the address. */
export function isByDocument(clientId: unknown): clientId is string {
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
 * site (`fetch-host-site`) and one provider (`fetch-host-provider`), and for all together so often that this server is no weapon against it
 * (`fetch-host-all`). Nobody can so keep the documents of a host from others. What failed is not tried
 * again for a short time.
 *
 * @throws {Problem} `rate_limited`
 */
export function limitedFetch(fetchGuarded: Fetch, limits: Limits): Fetch {
  const failures = createRecentFailures();
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (failures.has(url)) throw new Error(`${url} failed a moment ago`);
    const asking = { host: new URL(url).host, networks: networksOfCaller() };
    await admit(asking, limits);
    const response = await fetchGuarded(input, init).catch((error: unknown) => error);
    if (response instanceof Response && response.status === 200) return response;

    failures.note(url);
    await countFailure(asking, limits);
    if (response instanceof Response) return response;
    throw response;
  };
}

function networksOfCaller(): Networks | undefined {
  const { ctx } = Provider;
  return ctx && networksOf(ctx.ip);
}

async function admit({ host, networks }: Asking, limits: Limits): Promise<void> {
  const failed =
    networks === undefined ? [] : [await limits.look("fetch-host", `${host} ${networks.address}`)];
  const ofCaller: readonly Counter[] =
    networks === undefined
      ? []
      : [
          ["fetch-address", networks.address],
          ["fetch-host-site", `${host} ${networks.site}`],
          ...(networks.provider === undefined
            ? []
            : [["fetch-host-provider", `${host} ${networks.provider}`] as const]),
        ];
  const refusal =
    refusalOf(failed) ??
    refusalOf(await countInOrder(limits, [...ofCaller, ["fetch-host-all", host]]));
  if (refusal !== undefined) throw refusal;
}

async function countFailure({ host, networks }: Asking, limits: Limits): Promise<void> {
  if (networks !== undefined) await limits.count("fetch-host", `${host} ${networks.address}`);
}
