import type { Market } from "../../market/market.ts";
export async function readMarketFolder(_f: string, _p?: (d: number, t: number) => void): Promise<Market> {
  throw new Error("x");
}
