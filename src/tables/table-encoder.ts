import type { Cell } from "./table.ts";

/** Encodes a table in pieces, which together are the whole file. */
export interface TableEncoder {
  /** @returns The next piece; empty while rows are being buffered. */
  add(rows: Iterable<readonly Cell[]>): string | Uint8Array;
  /** @returns The last piece. */
  end(): string | Uint8Array;
}
