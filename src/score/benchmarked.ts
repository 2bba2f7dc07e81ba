import type { Track } from "./instrument-state.ts";

/** The class's market is made of this many instruments with the largest turnover. */
export const BENCHMARK_SIZE = 500;

/** Chooses what belongs to the market of the next session; all of a small class do. */
export function chooseBenchmark(tracks: readonly Track[]): void {
  if (tracks.length <= BENCHMARK_SIZE) return;
  const turnovers = Float64Array.from(tracks, ({ turnover }) => turnover ?? 0).sort();
  const least = turnovers.at(-BENCHMARK_SIZE) as number;
  for (const track of tracks) track.isBenchmarked = (track.turnover ?? 0) >= least;
}
