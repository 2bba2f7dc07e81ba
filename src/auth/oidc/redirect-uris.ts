import type { AdapterPayload } from "oidc-provider";
import { isLoopbackHost } from "../../outbound/loopback.ts";
import type { GrantRecord } from "../../principals/accounts/grants.ts";

/** Private-use schemes without a dot that are allowed by exception. RFC 8252 section 7.1 requires a
 *  reversed domain name, but the MCP client of Cursor uses
 *  `cursor://anysphere.cursor-mcp/oauth/callback`. */
const deployedSchemes = ["cursor:"];

/**
 * Whether a redirect URI is allowed: https, http to a loopback address, or a private-use scheme. A
 * private-use scheme must be a reversed domain name and therefore contain a dot (RFC 8252 section
 * 7.1); without a dot, it could start any other program on the device. `deployedSchemes` are
 * exempt.
 */
export function isAllowedRedirect({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  if (protocol === "http:") return isLoopbackHost(hostname);
  return protocol.includes(".") || deployedSchemes.includes(protocol);
}

/**
 * The part of a redirect URI that a person approves by consent: its origin; for a program on the
 * person's device, its scheme, plus the host if the host is a loopback address. The port of a
 * loopback address may change (RFC 8252 section 7.3).
 */
export function redirectOrigin(redirectUri: string): string {
  const { protocol, hostname, origin } = new URL(redirectUri);
  if (protocol === "https:") return origin;
  return protocol === "http:" ? `http://${hostname}` : protocol;
}

/**
 * Whether a person has approved the origin of a redirect URI.
 * @param grant `undefined` if the person has given the client no grant.
 */
export function approvesRedirect(
  grant: Pick<GrantRecord, "redirectOrigins"> | undefined,
  redirectUri: string,
): boolean {
  return grant?.redirectOrigins?.includes(redirectOrigin(redirectUri)) ?? false;
}

/** Whether two registrations have the same redirect URIs, in any order. */
export function haveSameRedirects(
  { redirect_uris: before = [] }: AdapterPayload,
  { redirect_uris: after = [] }: AdapterPayload,
): boolean {
  return before.every((uri) => after.includes(uri)) && after.every((uri) => before.includes(uri));
}
