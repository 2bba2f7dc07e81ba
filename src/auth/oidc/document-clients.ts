import type { ClientMetadata, KoaContextWithOIDC } from "oidc-provider";
import { addressKey } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import { scopes } from "../scopes.ts";

/** Fetches like the global one. */
export type Fetch = typeof fetch;

/** The draft that the library must be told to have been read. */
const DRAFT = "draft-02";

/** Grants of a client that nobody registered: only those for which a person decides. */
const grantTypes = ["authorization_code", "refresh_token"];

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
    grant_types: isList ? asked.filter((type) => grantTypes.includes(type)) : grantTypes,
    scope: document.scope ?? Object.keys(scopes).join(" "),
  };
}

/** Client ID Metadata Documents: clients of an address that the server looks at instead of a
 *  registration. @param limits `fetch-address`: who makes this server fetch. */
export function documentClients(limits: Limits) {
  return {
    enabled: true,
    ack: DRAFT,
    async allowFetch(ctx: KoaContextWithOIDC | undefined): Promise<boolean> {
      if (ctx === undefined) return true;
      return !(await limits.count("fetch-address", addressKey(ctx.ip))).isExceeded;
    },
  };
}

/** Fetches documents and key sets that clients name, each host so often that this server is no
 *  weapon against it (`fetch-host`). */
export function limitedFetch(fetchGuarded: Fetch, limits: Limits): Fetch {
  return async (input, init) => {
    const { host } = new URL(input instanceof Request ? input.url : input);
    if ((await limits.count("fetch-host", host)).isExceeded) {
      throw new Error(`${host} was asked too often`);
    }
    return fetchGuarded(input, init);
  };
}
