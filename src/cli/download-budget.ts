import { z } from "zod";

const BYTES_PER_GIGABYTE = 1_000_000_000;

/** Default of `--max-gb`: far more than ten years of the largest market have. */
const DEFAULT_GIGABYTES = 20;

/** Option of a command that downloads: how much it takes from a service at most. */
export const maxGigabytesOption = {
  value: "<n>",
  about: `stop after so many gigabytes (${DEFAULT_GIGABYTES})`,
  schema: z.coerce
    .number("is no number of gigabytes")
    .positive("is not above 0")
    .default(DEFAULT_GIGABYTES),
} as const;

/**
 * Creates the budget of a download, so that a server without end neither fills the disk nor is read
 * forever.
 */
export function createDownloadBudget(gigabytes: number) {
  let left = gigabytes * BYTES_PER_GIGABYTE;
  return {
    /** @throws {Error} If more bytes were downloaded than the operator allows. */
    take(bytes: number): void {
      left -= bytes;
      if (left >= 0) return;
      throw new Error(`That is more than ${gigabytes} GB: --max-gb allows more.`);
    },
  };
}
