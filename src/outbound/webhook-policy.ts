import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { GuardedAgentOptions } from "./guarded-agent.ts";
import { createNameLookup, type NameLookup } from "./name-lookup.ts";

/** Where webhooks may be, and how they are looked up. */
export type WebhookPolicy = Pick<
  GuardedAgentOptions,
  "schemes" | "isAllowed" | "isAllowedName" | "lookup"
>;

/** What may be chosen about it. */
export interface WebhookPolicyOptions {
  /** Also `http:`, and this machine; for development. */
  readonly allowsInsecure: boolean;
  /** Told, loudly, what that means. */
  readonly warn: (message: string) => void;
  /** Default: the name servers of the system. */
  readonly lookup?: NameLookup;
}

/** Addresses of this machine's own name; a receiver may listen on one of them only. */
const LOOPBACK = ["127.0.0.1", "::1"];

/** Names of this machine (RFC 6761 section 6.3). */
const LOCAL_NAME = /(^|\.)localhost\.*$/;

/** Decides where webhooks may be: at hosts of the internet, by TLS. */
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
    // Name servers do not know the names of this machine.
    lookup: async (name) => (LOCAL_NAME.test(name) ? LOOPBACK : lookup(name)),
  };
}

const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && ipaddr.parse(address).range() === "loopback";
