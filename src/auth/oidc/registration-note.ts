import { allScopes, parseScopeNames, scopeAdvice } from "../../access/scopes.ts";
import type { UnvalidatedClientMetadata } from "./metadata-members.ts";

/** Why a requested value was not registered, for the values that clients request most often. */
const reasons: Readonly<Record<string, string>> = {
  refresh_token:
    "refresh tokens come with authorization_code only; a client with client_credentials requests a new access token instead",
  token: "the implicit grant is not supported",
  code: "it belongs to the grant authorization_code",
  ...Object.fromEntries(
    allScopes.map((scope) => [scope, `a person must allow it; ${scopeAdvice}`]),
  ),
};

/**
 * States in words which requested grant types, response types and scopes a client was registered
 * without (RFC 7591 section 3.2.1 lets the server replace them, and the response is authoritative).
 *
 * @param requested The request body, valid.
 * @param registered The response body.
 * @returns `undefined` if the client was registered with all of them.
 */
export function registrationNote(
  requested: UnvalidatedClientMetadata,
  registered: UnvalidatedClientMetadata,
): string | undefined {
  const lost = ["grant_types", "response_types", "scope"].flatMap((member) => {
    const granted = valuesOf(registered[member]);
    return [...new Set(valuesOf(requested[member]))]
      .filter((value) => !granted.includes(value))
      .map((value) => `${member} without ${value} (${reasons[value] ?? "not available to it"})`);
  });
  return lost.length === 0 ? undefined : `Not all was registered: ${lost.join("; ")}.`;
}

/** A name that may be repeated to the client. */
const NAME = /^[!-~]{1,100}$/;

/** The values of a member that is an array or, like `scope`, a list separated by spaces. */
const valuesOf = (member: unknown): readonly string[] =>
  (Array.isArray(member) ? member.map(String) : parseScopeNames(String(member ?? ""))).map(
    (value) => (NAME.test(value) ? value : "a malformed name"),
  );
