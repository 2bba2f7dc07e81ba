import { collection } from "./port/records.ts";

/** What is written only to see whether a write reaches the disk. */
export const probes = collection<Record<string, never>>("probes");
