import type { Feed } from "./records.ts";

/**
 * The members of a record that identify its content, numbers first, then texts; `logReturn` follows from the
 * bar before. Hashes of records take `null` and absent members as NaN and "".
 */
export const RECORD_COLUMNS: Readonly<
  Record<Feed, readonly [readonly string[], readonly string[]]>
> = {
  bars: [
    ["availableAt", "open", "high", "low", "close", "volume", "dividend", "split"],
    ["session"],
  ],
  fundamentals: [["availableAt", "periodEnd", "value"], ["metric"]],
  mentions: [
    ["availableAt", "followers", "accountAgeDays", "symbolCount"],
    ["id", "text", "author", "stance"],
  ],
  prints: [
    ["availableAt", "tradedAt", "price", "sizeShares", "bid", "ask", "canceled", "signable"],
    ["id", "session", "venue", "conditions"],
  ],
  shortVolumes: [["availableAt", "shortShares", "totalShares"], ["session"]],
  weeklyVolumes: [["availableAt", "atsShares", "otcShares"], ["weekStart"]],
  onChain: [["availableAt", "mvrv", "nvt", "marketCapUsd"], ["session"]],
};
