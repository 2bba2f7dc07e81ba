import type { AdapterPayload, Provider } from "oidc-provider";
import { isLoopbackHost } from "../../lib/loopback.ts";
import type { GrantRecord } from "../accounts/grants.ts";

/**
 * Private-use schemes without a dot that are allowed all the same. RFC 8252 section 7.1 asks for a
 * reversed domain name; the MCP client of Cursor is deployed with
 * `cursor://anysphere.cursor-mcp/oauth/callback`.
 */
const deployedSchemes = ["cursor:"];

/**
 * Whether answers may be sent to an address: by https, by http to a program on the same machine, or by
 * a private-use scheme. The scheme must be a reversed domain name, so it has a dot (RFC 8252 section
 * 7.1): without one it could start any other program of the device. `deployedSchemes` are excepted.
 */
export function isAllowedRedirect({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  if (protocol === "http:") return isLoopbackHost(hostname);
  return protocol.includes(".") || deployedSchemes.includes(protocol);
}

/**
 * What a person approves when they consent to answers at an address: the origin; for a program on
 * their device the scheme, and the host when that is a loopback address. A loopback port is another
 * one each time (RFC 8252 section 7.3).
 */
export function redirectOrigin(redirectUri: string): string {
  const { protocol, hostname, origin } = new URL(redirectUri);
  if (protocol === "https:") return origin;
  return protocol === "http:" ? `http://${hostname}` : protocol;
}

/** Whether a person has approved answers at an address. @param grant `undefined`: they allowed nothing. */
export function approvesRedirect(
  grant: Pick<GrantRecord, "redirectOrigins"> | undefined,
  redirectUri: string,
): boolean {
  return grant?.redirectOrigins?.includes(redirectOrigin(redirectUri)) ?? false;
}

/** Whether two registrations have the same redirect addresses, in whatever order. */
export function haveSameRedirects(
  { redirect_uris: before = [] }: AdapterPayload,
  { redirect_uris: after = [] }: AdapterPayload,
): boolean {
  return before.every((uri) => after.includes(uri)) && after.every((uri) => before.includes(uri));
}

/** Lets grants keep the origins that a person approved; the library stores only members that it knows. */
export function keepRedirectOrigins({ Grant }: Provider): void {
  const { IN_PAYLOAD } = Grant as unknown as { readonly IN_PAYLOAD: readonly string[] };
  Object.defineProperty(Grant, "IN_PAYLOAD", { value: [...IN_PAYLOAD, "redirectOrigins"] });
}
