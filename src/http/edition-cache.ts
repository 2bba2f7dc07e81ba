import { LRUCache } from "lru-cache";
import type { ToolContext } from "../tool/tool.ts";

/** Caches what depends only on a question and the market. */
export interface EditionCache<T> {
  /** The cached result of a question; `undefined` if no valid result is cached. */
  find(question: string): T | undefined;
  /** Makes the result of a question and caches it; errors are not cached. */
  compute(question: string, make: () => T | Promise<T>): Promise<T>;
}

/** Size of a cache; the results that were used least recently are removed first. */
interface CacheSize<T> {
  /** Maximum total size, in bytes. */
  readonly maxSize: number;
  readonly sizeOf: (result: T, question: string) => number;
}

/**
 * Creates a cache that returns a result only as long as making it again would give the same result.
 * Between two editions of the snapshots, only time can change a result: a snapshot with a future
 * time becomes visible, or a requested time is no longer in the future. A result made while no
 * snapshot has a future time therefore stays valid until the next edition, or until the clock is
 * set back.
 */
export function createEditionCache<T extends object>(
  { market, snapshots }: ToolContext,
  { maxSize, sizeOf }: CacheSize<T>,
): EditionCache<T> {
  const results = new LRUCache<string, T>({ maxSize, sizeCalculation: sizeOf });
  /**
   * Edition of the cached results, and the latest time at which a result was cached, in
   * milliseconds since the epoch.
   */
  let current = { edition: snapshots.edition(), at: Number.NEGATIVE_INFINITY };
  const clearIfOutdated = (edition: number, at: number): void => {
    if (current.edition === edition && current.at <= at) return;
    results.clear();
    current = { edition, at: Number.NEGATIVE_INFINITY };
  };
  return {
    find(question) {
      clearIfOutdated(snapshots.edition(), market.now());
      return results.get(question);
    },
    async compute(question, make) {
      const [edition, at] = [snapshots.edition(), market.now()];
      const isCurrent = snapshots.latestAt() <= at;
      const result = await make();
      if (!isCurrent || snapshots.edition() !== edition) return result;
      clearIfOutdated(edition, at);
      current = { edition, at };
      results.set(question, result);
      return result;
    },
  };
}
