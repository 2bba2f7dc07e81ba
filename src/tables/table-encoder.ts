import type { Cell } from "./table.ts";

/** Writes a table piece by piece. The pieces together are the whole file. */
export interface TableEncoder {
  /** @returns What is ready to be written; empty while rows are gathered. */
  add(rows: Iterable<readonly Cell[]>): string | Uint8Array;
  /** @returns The rest. */
  end(): string | Uint8Array;
}
