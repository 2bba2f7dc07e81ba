import { parseTilePath } from "../../src/tree/tile-path.ts";
import type { signalLog } from "./signal-log.ts";

/** Creates a log source from a log's reader. */
export const logSourceOf = ({ reader }: Pick<ReturnType<typeof signalLog>, "reader">) => ({
  async read(path: string) {
    if (path === "checkpoint") return Buffer.from((await reader.checkpoint())?.note ?? "");
    const tile = parseTilePath(path.replace("tile/", ""));
    if (tile?.level === "entries") return reader.bundle(tile);
    return tile && reader.tile({ ...tile, level: tile.level as number });
  },
});
