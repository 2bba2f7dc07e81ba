import { z } from "zod";
import {
  BACKTEST_VERDICT_NOTE,
  TrackRecordAnswer,
  trackRecordAnswer,
} from "../src/answers/track-record.ts";
import { Problem } from "../src/lib/problem.ts";
import { AssetClass } from "../src/market/instrument.ts";
import { requireSignalLog } from "../src/tool/signal-log.ts";
import { defineTool } from "../src/tool/tool.ts";

/** The tool that returns the track record: the outcomes of the logged signals. */
export const getTrackRecord = defineTool({
  name: "get_track_record",
  title: "Track record",
  description:
    "How the logged signals turned out by a rule fixed beforehand, beside LONG on everything and shuffled signals, by class, method, signal and sector, and the live claim. meanReturn and hitRate join LONG and SHORT with its sign turned. The verdict of the backtest is in evidence of get_signal.",
  scopes: ["signals:read"],
  routes: [{ method: "GET", path: "/api/track-record" }],
  input: z.strictObject({ assetClass: AssetClass.optional().describe("Default: all.") }),
  output: TrackRecordAnswer,

  async run({ assetClass }, context) {
    const { mode, source, now } = context.market;
    const record = await requireSignalLog(context).trackRecord();
    if (record === undefined) {
      throw new Problem("not_found", {
        detail: "Nothing is logged yet: the first session has not closed.",
        next: `Ask again after the next close of the market. ${BACKTEST_VERDICT_NOTE}`,
      });
    }
    return trackRecordAnswer(record, { mode, source, now: now() }, assetClass);
  },
});
