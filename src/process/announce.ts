import type { Setup } from "../ingest/setup.ts";

/** What is said of a live market when the service is ready, one line each. */
export function liveMarketLines(
  { instruments, unpriced, providers }: Setup,
  anonymousScopes: readonly string[],
): readonly string[] {
  const used = providers.filter(({ feeds }) => feeds.length > 0);
  const own = used.filter(({ isForOwnUse }) => isForOwnUse);
  const wanting = providers.filter(({ missing }) => missing.length > 0);
  const needs = wanting.map(({ id, missing }) => `${id} needs ${missing.join(", ")}`);
  const by =
    used.length === 0 ? "no provider" : `${counted(used.length, "provider")}: ${idsOf(used)}`;
  return [
    `Follows ${counted(instruments, "instrument")} by ${by}.`,
    unpriced > 0 && `No provider is asked for the prices of ${unpriced}, so they get no score.`,
    needs.length > 0 && `Not configured: ${needs.join("; ")}.`,
    anonymousScopes.length === 0 &&
      "Agents that nobody answers for get nothing; ANONYMOUS_SCOPES allows more.",
    own.length > 0 && `Only you may use what comes from ${idsOf(own)}, by their terms.`,
    "market-signal doctor says how each provider is doing.",
  ].filter((line) => typeof line === "string");
}

const idsOf = (providers: Setup["providers"]): string => providers.map(({ id }) => id).join(", ");

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;
