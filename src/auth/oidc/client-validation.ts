import type { ClientMetadata, KoaContextWithOIDC } from "oidc-provider";
import type { Scope } from "../scopes.ts";
import { normaliseRegistration } from "./client-metadata.ts";
import { documentMetadata, isByDocument } from "./metadata-documents.ts";
import { scopeCeiling } from "./registration-endpoint.ts";
import { withPersonalScopes } from "./resources.ts";

/** Members beyond those of the library. */
const properties = ["software_id", "software_version"];

/**
 * Normalises what a stranger says of a client before oidc-provider looks at it: in every registration
 * and update, and in a metadata document whenever it is used. A registered client that is merely
 * loaded was normalised before.
 *
 * The library runs the hook once for each member of its own, and tells it the request only when there
 * is something to be kept.
 */
export function clientMetadata(anonymousScopes: readonly Scope[]) {
  return {
    properties,
    validator(
      ctx: KoaContextWithOIDC | undefined,
      member: string,
      _value: unknown,
      metadata: ClientMetadata,
    ): void {
      if (member !== properties[0]) return;
      if (ctx !== undefined) {
        const ceiling = scopeCeiling(ctx, anonymousScopes);
        Object.assign(metadata, normaliseRegistration({ ...metadata }, ceiling));
      } else if (isByDocument(metadata.client_id)) {
        const normal = normaliseRegistration(documentMetadata({ ...metadata }), []);
        Object.assign(metadata, normal, { scope: withPersonalScopes(String(normal.scope)) });
      }
    },
  };
}
