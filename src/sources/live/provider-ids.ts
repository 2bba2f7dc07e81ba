/**
 * Ids of all providers in order of preference: if several providers have the same feed, the first
 * usable provider is used.
 */
export const providerIds = [
  "coinbase",
  "kraken",
  "coin-metrics",
  "massive",
  "unusual-whales",
  "alpaca",
  "deribit",
  "finra-daily",
  "finra-weekly",
  "edgar",
  "jetstream",
  "stocktwits",
  "gdelt",
] as const;

/** Whether a text is the id of a provider. */
export const isProviderId = (text: string): boolean =>
  (providerIds as readonly string[]).includes(text);
