import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { createNameLookup, type NameLookup } from "./name-lookup.ts";
import type { UrlPolicy } from "./url-policy.ts";

/** Which hosts may receive webhooks, and how host names are resolved. */
interface WebhookPolicy extends UrlPolicy {
  /** Resolves host names. Default: the system's name servers. */
  readonly lookup?: NameLookup;
}

/** Options of `createWebhookPolicy`. */
interface WebhookPolicyOptions {
  /** Allows `http:` URLs and receivers on this machine; for development. */
  readonly allowsInsecure: boolean;
  /** Called with a warning when insecure webhooks are allowed. */
  readonly warn: (message: string) => void;
  /** Resolves host names. Default: the system's name servers. */
  readonly lookup?: NameLookup;
}

/** Addresses of `localhost`. Both are tried, because a receiver may listen on only one of them. */
const LOOPBACK = ["127.0.0.1", "::1"];

/** Matches host names that refer to this machine (RFC 6761 section 6.3). */
const LOCAL_NAME = /(^|\.)localhost\.*$/;

/** Creates the webhook policy: public hosts over TLS only, unless insecure webhooks are allowed. */
export function createWebhookPolicy({
  allowsInsecure,
  warn,
  lookup = createNameLookup(),
}: WebhookPolicyOptions): WebhookPolicy {
  if (!allowsInsecure) return { lookup };
  warn(
    "ALLOW_INSECURE_WEBHOOKS is set: webhooks may use http and reach this machine. Development only!",
  );
  return {
    schemes: ["https:", "http:"],
    isAllowed: isLoopback,
    isAllowedName: (name) => LOCAL_NAME.test(name),
    // `localhost` is resolved here, because name servers do not resolve it.
    lookup: async (name) => (LOCAL_NAME.test(name) ? LOOPBACK : lookup(name)),
  };
}

const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && ipaddr.parse(address).range() === "loopback";
