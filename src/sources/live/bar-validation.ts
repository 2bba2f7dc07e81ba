import type { Bar } from "../../market/records.ts";

/** Why a bar is invalid on its own, whatever came before; `undefined` when it is valid. */
export function barFault({
  open,
  high,
  low,
  close,
  volume,
}: Pick<Bar, "open" | "high" | "low" | "close" | "volume">): string | undefined {
  for (const price of [open, high, low, close]) {
    if (!Number.isFinite(price) || price <= 0) return `the price ${price} is not above 0`;
  }
  if (high < low) return `the high ${high} is under the low ${low}`;
  return Number.isFinite(volume) && volume >= 0 ? undefined : `the volume ${volume} is under 0`;
}
