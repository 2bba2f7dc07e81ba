import { z } from "zod";
import type { PastSnapshot } from "../score/snapshot.ts";
import type { ToolContext } from "../tool.ts";
import { Instant, isoInstant } from "./common.ts";

/** Log entry of a decision. */
export const Logged = z
  .object({ index: z.int().min(0), at: Instant })
  .nullable()
  .describe("Log entry of the closed session it rests on, for verify_signal; null: none yet.");

/** The log entry of the last closed session that a snapshot rests on. */
export function loggedAnswer(
  { instrument, at }: PastSnapshot,
  { signalLog, snapshots }: ToolContext,
): z.input<typeof Logged> {
  const close = snapshots.history(instrument.symbol, 0, at).at(-1)?.at;
  const index = close === undefined ? undefined : signalLog?.indexOf(instrument, close);
  return close === undefined || index === undefined ? null : { index, at: isoInstant(close) };
}
