import { z } from "zod";

/**
 * Asset classes, the peer groups of the scoring method: an instrument is compared with the others
 * of its class. Sessions, half-lives and weights differ between classes.
 */
export const AssetClass = z.enum(["stock", "etf", "crypto"]);
export type AssetClass = z.infer<typeof AssetClass>;

/** A listed security or coin that can be scored. */
export interface Instrument {
  /** Ticker in upper case, for example `AAPL`, `BRK-B` or `BTC-USD`; unique within a market. */
  readonly symbol: string;
  readonly name: string;
  readonly assetClass: AssetClass;
  /** Listing venue as spelled by the source; `null` if the source does not state the venue. */
  readonly exchange: string | null;
  /** ISO 4217 code of the currency in which the instrument is quoted. */
  readonly currency: string;
  /** Sector as spelled by the source; `null` for funds and coins. */
  readonly sector: string | null;
}
