import type { Market } from "../market/market.ts";
import { DataError } from "./files/data-error.ts";
import type { ReadOptions } from "./files/market-folder.ts";
import { dailyClock, type MarketClock, ReplayClock, stoppedClock } from "./market-clock.ts";
import type { ReplaySettings } from "./replay-settings.ts";
import { createSandbox } from "./sandbox/sandbox.ts";

/** Source of the market data. */
export type MarketSettings =
  | { readonly kind: "sandbox"; readonly sessionSeconds: number; readonly seed: number }
  | { readonly kind: "files"; readonly folder: string; readonly asOf: Date | undefined }
  | ({ readonly kind: "replay"; readonly folder: string } & ReplaySettings)
  | ({ readonly kind: "live" } & LiveMarketSettings);

/** Instruments and providers of a live market. */
export interface LiveMarketSettings {
  /**
   * Symbols, or the path of a file of instruments; `undefined` for the default list of large
   * instruments.
   */
  readonly universe: string | undefined;
  /** Ids of the providers to use; `undefined` for all that are configured. */
  readonly providers: readonly string[] | undefined;
  /** API keys and other credentials of providers, by the name of the environment variable. */
  readonly settings: Readonly<Record<string, string>>;
  /** Origins of mirrors that replace a provider's own origin, by provider id. */
  readonly origins: Readonly<Record<string, string>>;
}

/** A market and its clock. */
export interface OpenedMarket {
  readonly market: Market;
  readonly clock: MarketClock;
}

/**
 * Opens the configured market. Records of a folder that become known after the last instant of
 * interest are dropped.
 *
 * @throws {Error} If a folder is invalid, or has no data for the replay.
 */
export async function openMarket(
  choice: Exclude<MarketSettings, { readonly kind: "live" }>,
  progress: Pick<ReadOptions, "onProgress">,
): Promise<OpenedMarket> {
  switch (choice.kind) {
    case "sandbox": {
      const market = createSandbox(choice);
      return { market, clock: dailyClock(market.dayMs) };
    }
    case "files": {
      const until = choice.asOf?.getTime();
      const options = { ...progress, ...(until !== undefined && { until }) };
      const market = await readFolder(choice.folder, options);
      return { market, clock: stoppedClock(until ?? newestBarAt(market)) };
    }
    case "replay": {
      const folder = await readFolder(choice.folder, { ...progress, until: choice.to });
      requireData(folder, choice);
      return { market: { ...folder, mode: "replay" }, clock: new ReplayClock(choice) };
    }
  }
}

/** Reads a market folder. The code that reads it is loaded only when needed. */
async function readFolder(folder: string, options: ReadOptions): Promise<Market> {
  const { readMarketFolder } = await import("./files/market-folder.ts");
  try {
    return await readMarketFolder(folder, options);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const { message } = error;
    throw new Error(`${message}; "market-signal check" lists all of it.`, { cause: error });
  }
}

/**
 * Checks that a folder has data for the replay.
 *
 * @throws {Error} If the replay begins before the first bar or ends after the last.
 */
function requireData(market: Market, { from, to }: ReplaySettings): void {
  const newest = newestBarAt(market);
  if (newest === 0) {
    throw new Error(`REPLAY: no bar of the folder is known by ${text(to)}; end later.`);
  }
  const first = Math.min(...barTimes(market, 0));
  if (from < first) {
    throw new Error(`REPLAY: the first bar became known at ${text(first)}; begin there or later.`);
  }
  const missed = market.barsDue?.(newest, to, "stock") ?? [];
  if (missed.length > 0) {
    throw new Error(`REPLAY: the last bar became known at ${text(newest)}; end there or before.`);
  }
}

const text = (at: number): string => new Date(at).toISOString();

/**
 * When the newest bar of a market became known, which is the end of recorded history; Unix
 * milliseconds, 0 without bars.
 */
const newestBarAt = (market: Market): number => Math.max(0, ...barTimes(market, -1));

/**
 * When each instrument's bar at the given position became known, Unix milliseconds; position -1 is
 * the last bar.
 */
const barTimes = (market: Market, position: 0 | -1): readonly number[] =>
  market
    .recordsUntil(Number.POSITIVE_INFINITY)
    .flatMap(({ bars }) => bars.at(position)?.availableAt ?? []);
