import type { Request, RequestHandler, Response } from "express";
import { fingerprint } from "../auth/secrets.ts";
import { addressKey } from "../limits/address-key.ts";
import type { Limits, QuotaName } from "../limits/limits.ts";
import { refusalOf } from "../limits/refusal.ts";
import { limitBy } from "./limited.ts";
import { formOf } from "./oauth-request.ts";

/** Who a client says it is; nothing of it is proven. */
interface Named {
  readonly clientId: string;
  /** What it came with to prove it. */
  readonly proof: "secret" | "assertion" | undefined;
}

/** The client that a request names, in one of the ways of RFC 6749 section 2.3 and RFC 7523 section
 *  2.2. A request that names none, or more than one, is refused later. */
function namedBy(req: Request): Named {
  const form = formOf(req);
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

/** A public client is many people's, so that each of their addresses counts by itself. */
function callerKey(req: Request): string {
  const { clientId, proof } = namedBy(req);
  const key = fingerprint(clientId);
  return proof === undefined ? `${key} ${addressKey(req.ip)}` : key;
}

/** Limits how often a client asks for tokens. @throws {Problem} `rate_limited` */
export const limitTokens = (limits: Limits): RequestHandler => limitBy(limits, "token", callerKey);

type Counter = readonly [QuotaName, string];

/** Where a wrong proof counts. Only secrets can be guessed: who could lock every client by a few wrong
 *  words could keep all people from one that many use. */
function failuresOf(req: Request): readonly Counter[] {
  const { clientId, proof } = namedBy(req);
  const byAddress: Counter = ["secret-address", addressKey(req.ip)];
  return proof === "secret" ? [["secret-client", fingerprint(clientId)], byAddress] : [byAddress];
}

/**
 * Hands a request on at which clients prove who they are, unless too many proofs were wrong of late,
 * from this address or for this client: then not even the right one is looked at.
 *
 * @throws {Problem} `rate_limited`
 */
export function guardProofs(
  limits: Limits,
  handOn: (req: Request, res: Response) => Promise<void>,
): RequestHandler {
  return async (req, res) => {
    const counters = failuresOf(req);
    const looked = await Promise.all(counters.map(([quota, key]) => limits.look(quota, key)));
    const refusal = refusalOf(looked);
    if (refusal !== undefined) throw refusal;

    await handOn(req, res);
    // RFC 6749 section 5.2: invalid_client, whatever was wrong about the proof.
    if (res.statusCode !== 401) return;
    await Promise.all(counters.map(([quota, key]) => limits.count(quota, key)));
  };
}
