import { type LogVerificationOptions, verifyLog } from "../../src/log/verify/verify-log.ts";
import { parseTilePath } from "../../src/tree/tile-path.ts";
import { type SignalLog, verifierTextOf } from "./signal-log.ts";

/** Creates a log source from a log's reader. */
export const logSourceOf = ({ reader }: Pick<SignalLog, "reader">) => ({
  async read(path: string) {
    if (path === "checkpoint") return Buffer.from((await reader.checkpoint())?.note ?? "");
    const tile = parseTilePath(path.replace("tile/", ""));
    if (tile?.level === "entries") return reader.bundle(tile);
    return tile && reader.tile({ ...tile, level: tile.level as number });
  },
});

/** Verifies a log that the verifier has not seen before, with the log's own key. */
export async function verified(log: SignalLog, options: Partial<LogVerificationOptions> = {}) {
  const { origin = "" } = (await log.reader.checkpoint()) ?? {};
  const { checks, ...result } = await verifyLog({
    ...{ source: logSourceOf(log), keys: [verifierTextOf(origin)], known: undefined },
    ...{ now: () => 0, ...options },
  });
  return {
    ...result,
    failures: checks.filter(({ outcome }) => outcome === "failed"),
    check: (name: string) => checks.find((one) => one.name === name),
    /** Outcomes by name of the check. */
    outcomes: Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome])),
  };
}
