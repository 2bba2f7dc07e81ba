import { networksOf } from "./address-key.ts";
import type { Counter } from "./count-in-order.ts";

/** Counters of what agents do about their own claims, by the networks of their address, since one
 *  caller can register many agents. */
export function ownClaimCounters(ip: string | undefined): readonly Counter[] {
  const { address, site, provider } = networksOf(ip);
  return [
    ["claim-start-address", address],
    ["claim-start-site", site],
    ...(provider === undefined ? [] : [["claim-start-provider", provider] as const]),
  ];
}

/** Counters of a new claim code for an agent. */
export const newCodeCounters = (agentId: string, ip: string | undefined): readonly Counter[] => [
  ["claim-start", agentId],
  ...ownClaimCounters(ip),
];
