import { networkKeysOf } from "./address-key.ts";
import type { QuotaCounter } from "./count-in-order.ts";

/**
 * Counters for requests of agents about their own claims. The requests are counted per network of
 * the caller's address, since one caller can register many agents.
 */
export function claimStartCounters(ip: string | undefined): readonly QuotaCounter[] {
  const { address, site, provider } = networkKeysOf(ip);
  return [
    ["claim-start-address", address],
    ["claim-start-site", site],
    ...(provider === undefined ? [] : [["claim-start-provider", provider] as const]),
  ];
}

/** Counters for a request for a new claim code for an agent. */
export const newCodeCounters = (
  agentId: string,
  ip: string | undefined,
): readonly QuotaCounter[] => [["claim-start", agentId], ...claimStartCounters(ip)];
