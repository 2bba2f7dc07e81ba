import { Problem } from "../lib/problem.ts";
import type { ToolContext, ToolSignalLog } from "./tool.ts";

/**
 * The signal log of a market.
 *
 * @throws {Problem} `not_found` if the market has no log because it is fixed at one instant.
 */
export function requireSignalLog({ signalLog }: ToolContext): ToolSignalLog {
  if (signalLog !== undefined) return signalLog;
  throw new Problem("not_found", {
    detail: "This market has no log, because it is fixed at one instant.",
    next: "Ask a service of a live, replayed or simulated market.",
  });
}
