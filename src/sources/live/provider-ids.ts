/** What every provider is called; where several have the same, the first that can be used is asked. */
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

/** Whether a provider is called so. */
export const isProviderId = (text: string): boolean =>
  (providerIds as readonly string[]).includes(text);
