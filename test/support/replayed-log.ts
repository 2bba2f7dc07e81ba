import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newYorkInstant } from "../../src/market/new-york.ts";
import { ScoringEngine } from "../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../src/score/snapshot-archive.ts";
import { readMarketFolder } from "../../src/sources/files/market-folder.ts";
import { entryBundlePath, tilePath } from "../../src/tree/tile-path.ts";
import { allTiles } from "../../src/tree/tiles.ts";
import { logSourceOf } from "./log-source.ts";
import { Sessions, signalLog } from "./signal-log.ts";
import { model, openStore } from "./stores.ts";

/**
 * Replays a market folder and writes every session to a signal log.
 *
 * @param from, to ISO dates, inclusive.
 */
export async function replayedLog(path: string, from: string, to: string) {
  const market = await readMarketFolder(path, { until: newYorkInstant(to, "23:59") });
  const snapshots = createSnapshotArchive();
  const engine = new ScoringEngine(market, snapshots);
  const first = newYorkInstant(from, "00:00");
  const bars = market.recordsUntil(Number.MAX_SAFE_INTEGER).flatMap((one) => [...one.bars]);
  const closes = new Set(bars.map(({ availableAt }) => availableAt));
  const instants = [...closes].filter((at) => at >= first).sort((a, b) => a - b);
  let now = instants[0] as number;
  const log = signalLog(await openStore(model), new Sessions(), {
    snapshots,
    market: { ...market, mode: "replay" },
    knownUntil: () => now,
    now: () => now,
  });
  for (const at of instants) {
    now = at;
    engine.refresh(at);
    await log.settle();
  }
  return { market, log };
}

/** Writes the files of a log in the same layout as `market-signal log download`. */
export async function saveLog(log: ReturnType<typeof signalLog>, folder: string): Promise<void> {
  const { size = 0 } = (await log.reader.checkpoint()) ?? {};
  const { read } = logSourceOf(log);
  const tiles = allTiles(size).flatMap((tile) => [
    `tile/${tilePath(tile)}`,
    ...(tile.level === 0 ? [`tile/${entryBundlePath(tile)}`] : []),
  ]);
  for (const path of ["checkpoint", ...tiles]) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, (await read(path)) ?? "");
  }
}
