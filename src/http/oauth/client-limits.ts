import { type AdmitToken, requestHooksOf } from "../../auth/oidc/request-state.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { ipAddressKey, partyAt } from "../../limits/address-key.ts";
import { GuessGuard } from "../../limits/guess-guard.ts";
import type { Limits } from "../../limits/limits.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { tokenOperation } from "../../openapi/operations/tokens.ts";
import { admitRequest } from "../rate-limits.ts";
import type { FormRequest, OAuthRequest } from "./oauth-request.ts";

/** Forwards a request to the authorization server. */
export type ForwardRequest<R = OAuthRequest> = (request: R) => Promise<void>;

/** The client that a request claims to come from, before authentication. */
interface NamedClient {
  /** Client id; empty if it is missing or malformed. */
  readonly clientId: string;
  /** Kind of client authentication; `undefined` if the request has none. */
  readonly method: "secret" | "assertion" | undefined;
  /** Key under which the rate limits count the network address. */
  readonly address: string;
}

/** A token request with the client that it claims to come from. */
type ClientRequest = FormRequest & { readonly named: NamedClient };

/**
 * Reads the client of a request from its client authentication (RFC 6749 section 2.3, RFC 7523
 * section 2.2). A request with no client, or with several, is rejected later.
 */
function namedClient({ req, form }: FormRequest): Omit<NamedClient, "address"> {
  const basic = /^basic +(\S+)$/i.exec(req.headers.authorization ?? "")?.[1];
  if (basic !== undefined) return { clientId: userOf(basic), method: "secret" };
  const clientId = form.get("client_id");
  if (form.has("client_secret")) return { clientId: clientId ?? "", method: "secret" };
  const assertion = form.get("client_assertion");
  if (assertion === null) return { clientId: clientId ?? "", method: undefined };
  return { clientId: clientId ?? subjectOf(assertion), method: "assertion" };
}

function userOf(basic: string): string {
  const [user = ""] = Buffer.from(basic, "base64").toString().split(":");
  try {
    return decodeURIComponent(user.replaceAll("+", " "));
  } catch {
    return "";
  }
}

function subjectOf(assertion: string): string {
  try {
    const { sub } = JSON.parse(Buffer.from(assertion.split(".")[1] ?? "", "base64url").toString());
    return String(sub);
  } catch {
    return "";
  }
}

/**
 * Limits token requests. Anyone can send any client id, so requests are counted per client and
 * address.
 *
 * @throws {Problem} `rate_limited`
 */
export function limitTokenRequests(
  limits: Limits,
  forward: ForwardRequest<FormRequest>,
): ForwardRequest<ClientRequest> {
  return async (request) => {
    const { res, ip, named } = request;
    const caller = `${fingerprint(named.clientId)} ${named.address}`;
    await admitRequest(limits, { res }, tokenOperation.limit.name, partyAt(ip, caller));
    await forward(request);
  };
}

/**
 * Limits the tokens issued per hour. A token is valid for an hour, so this also limits the number
 * of valid tokens. Tokens of an unclaimed agent count for the agent; all other tokens count for the
 * client together with the person.
 *
 * @returns A function that throws the problem `rate_limited`.
 */
export function createTokenAdmission(limits: Limits, { res, ip }: OAuthRequest): AdmitToken {
  return ({ clientId, accountId }) =>
    accountId === undefined
      ? admitRequest(limits, { res }, "tokens-unclaimed", partyAt(ip, fingerprint(clientId)))
      : admitRequest(
          limits,
          { res },
          "tokens",
          partyAt(ip, fingerprint(`${clientId} ${accountId}`)),
        );
}

/**
 * Forwards a request with client authentication. After too many recent failures to authenticate as
 * this client from this address, even a correct secret is rejected. A client is never locked out by
 * wrong secrets from other addresses, nor by failures of other clients at a shared address. Secrets
 * cannot be guessed, so the limit only bounds the number of checks.
 *
 * @throws {Problem} `rate_limited`
 */
export function limitClientAuthentication(
  limits: Limits,
  forward: ForwardRequest<ClientRequest>,
): ForwardRequest<FormRequest> {
  const guard = new GuessGuard(limits);
  return async (request) => {
    const address = ipAddressKey(request.ip);
    const named = { ...namedClient(request), address };
    const { clientId, method } = named;
    const party = partyAt(request.ip, `${address} ${fingerprint(clientId)}`);
    await guard.check(party);
    // A request without a client has nothing to authenticate.
    if (method !== undefined || clientId !== "") {
      const assertions = partyAt(request.ip, `assertions ${party.caller}`);
      requestHooksOf(request.res).beforeAssertionStored = () =>
        requireAdmission(limits, "token-requests", assertions);
      requestHooksOf(request.res).onFailedClientAuthentication = () => guard.record(party);
    }
    await forward({ ...request, named });
  };
}
