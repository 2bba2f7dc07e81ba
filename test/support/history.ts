/** A row of a get_signal history with `detail=full`. */
export interface HistoryRow {
  readonly session: string;
  readonly asOf: string;
  readonly status: string;
  readonly signal: string;
  readonly score: number;
  readonly scoreRaw: number;
  readonly scoreSmoothed: number;
  readonly price: number | null;
  readonly return: number | null;
}

/** A page of a history, whose rows are transposed into columns. */
interface HistoryPage {
  readonly history: Readonly<Record<string, readonly unknown[]>>;
  readonly nextCursor: string | null;
}

/**
 * Reads all pages of a history. @returns Its rows. @param ask Gets the JSON at a path with a query.
 */
export async function historyRows(
  ask: (path: string) => Promise<HistoryPage>,
  path: string,
): Promise<readonly HistoryRow[]> {
  const rows: HistoryRow[] = [];
  let cursor = "";
  do {
    const { history, nextCursor } = await ask(`${path}&detail=full&limit=500${cursor}`);
    const columns = Object.entries(history);
    const length = columns[0]?.[1].length ?? 0;
    for (let index = 0; index < length; index++) {
      const cells = columns.map(([name, values]) => [name, values[index]]);
      rows.push(Object.fromEntries(cells));
    }
    cursor = nextCursor === null ? "" : `&cursor=${nextCursor}`;
  } while (cursor !== "");
  return rows;
}
