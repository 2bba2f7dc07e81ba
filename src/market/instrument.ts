import { z } from "zod";

/** The peer groups of the method: sessions, half-lives and weights differ between them. */
export const AssetClass = z.enum(["stock", "etf", "crypto"]);
export type AssetClass = z.infer<typeof AssetClass>;

/** What a score is about: one listed security or one coin. */
export interface Instrument {
  /** Ticker in upper case, for example `AAPL`, `BRK-B` or `BTC-USD`; unique within a market. */
  readonly symbol: string;
  readonly name: string;
  readonly assetClass: AssetClass;
  /** Listing venue as its source names it, `null` when the source does not say. */
  readonly exchange: string | null;
  /** ISO 4217 code of the prices. */
  readonly currency: string;
  /** Sector as its source names it, `null` for funds and coins. */
  readonly sector: string | null;
}
