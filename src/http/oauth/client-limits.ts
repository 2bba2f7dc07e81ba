import { type AdmitToken, hooksOf } from "../../auth/oidc/request-state.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { addressKey } from "../../limits/address-key.ts";
import { countInNetworks } from "../../limits/count-in-networks.ts";
import { countInOrder } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/limits.ts";
import { refusalOf } from "../../limits/refusal.ts";
import { admit } from "../rate-limits.ts";
import type { FormRequest, OAuthRequest } from "./oauth-request.ts";

/** Hands a request on to the authorization server. */
export type HandOn<R = OAuthRequest> = (request: R) => Promise<void>;

/** Who a client says it is; nothing of it is proven. */
interface Named {
  /** Empty when it does not say, or not so that it can be read. */
  readonly clientId: string;
  /** What it came with to prove it. */
  readonly proof: "secret" | "assertion" | undefined;
  /** Key of the network address. */
  readonly address: string;
}

/** A request of who may be a client. */
type ClientRequest = FormRequest & { readonly named: Named };

/** The client that a request names, in one of the ways of RFC 6749 section 2.3 and RFC 7523 section
 *  2.2. A request that names none, or more than one, is refused later. */
function namedBy({ req, form }: FormRequest): Omit<Named, "address"> {
  const basic = /^basic +(\S+)$/i.exec(req.headers.authorization ?? "")?.[1];
  if (basic !== undefined) return { clientId: userOf(basic), proof: "secret" };
  const clientId = form.get("client_id");
  if (form.has("client_secret")) return { clientId: clientId ?? "", proof: "secret" };
  const assertion = form.get("client_assertion");
  if (assertion === null) return { clientId: clientId ?? "", proof: undefined };
  return { clientId: clientId ?? subjectOf(assertion), proof: "assertion" };
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
 * Limits how often a client asks for tokens. Anybody can name any client, so that requests count for
 * each address by itself, and for the client as a whole only what it was given once it had proven who
 * it is. A client that proves nothing is many people's and is counted by address alone.
 *
 * @throws {Problem} `rate_limited`
 */
export function limitTokens(limits: Limits, handOn: HandOn<FormRequest>): HandOn<ClientRequest> {
  return async (asked) => {
    const { res, named } = asked;
    const { clientId, proof, address } = named;
    const client = fingerprint(clientId);
    const given = proof && (await limits.look("token", client));
    if (given?.isExceeded) return admit(res, [given]);
    admit(res, [await limits.count("token", `${client} ${address}`)]);

    await handOn(asked);
    if (proof && res.statusCode === 200) await limits.count("token", client);
  };
}

/**
 * Limits how many tokens are given in the hour that each lives, and so how many live. What an agent
 * gets that nobody has claimed counts for the agent and for the networks that it asks from; whatever
 * else, for the client and the person, and for the person with all their clients. The client stands
 * first: it has proven who it is, and one that goes on takes nothing from its neighbors.
 *
 * @returns Throws the problem `rate_limited`.
 */
export function admitTokens(limits: Limits, { res, ip }: OAuthRequest): AdmitToken {
  return async ({ clientId, accountId }) => {
    if (accountId === undefined) {
      admit(res, [await limits.count("token-unclaimed-client", fingerprint(clientId))]);
      return admit(res, await countInNetworks(limits, "token-unclaimed", ip));
    }
    const client = ["token-client", fingerprint(`${clientId} ${accountId}`)] as const;
    admit(res, await countInOrder(limits, [client, ["token-account", accountId]]));
  };
}

/**
 * Hands a request on at which clients prove who they are, unless too many proofs from this address were
 * wrong of late: then not even the right one is looked at. Wrong secrets from elsewhere never lock
 * the right one out, which nobody can guess; there are only so many answers to them.
 *
 * @throws {Problem} `rate_limited`
 */
export function guardProofs(limits: Limits, handOn: HandOn<ClientRequest>): HandOn<FormRequest> {
  return async (asked) => {
    const address = addressKey(asked.ip);
    const refusal = refusalOf([await limits.look("secret-address", address)]);
    if (refusal !== undefined) throw refusal;

    const named = { ...namedBy(asked), address };
    const { clientId, proof } = named;
    // Who names nobody has nothing to prove.
    if (proof !== undefined || clientId !== "") {
      hooksOf(asked.res).onFailedClientAuthentication = async () => {
        await limits.count("secret-address", address);
        if (proof !== "secret") return undefined;
        return refusalOf([await limits.count("secret-client", fingerprint(clientId))]);
      };
    }
    await handOn({ ...asked, named });
  };
}
