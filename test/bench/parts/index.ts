import type { Effort, Part } from "../harness/report.ts";
import { agents } from "./agents.ts";
import { alerts } from "./alerts.ts";
import { analyser } from "./analyser.ts";
import { callCost } from "./call-cost.ts";
import { cluster } from "./cluster.ts";
import { deliveries } from "./deliveries.ts";
import { engine } from "./engine.ts";
import { issuance } from "./issuance.ts";
import { mcp } from "./mcp.ts";
import { reads } from "./reads.ts";
import { records } from "./records.ts";
import { rest } from "./rest.ts";
import { signalLog } from "./signal-log.ts";
import { start } from "./start.ts";

type Measure = (effort: Effort) => Promise<Part>;

/** Every part of the bench, in the order in which they run. */
export const parts: Readonly<Record<string, Measure>> = {
  ...{ mcp, rest, "call-cost": callCost },
  ...{ issuance, cluster, engine, analyser, start, deliveries },
  "signal-log": signalLog,
  ...{ "scaling-reads": reads, "scaling-records": records },
  ...{ "scaling-alerts": alerts, "scaling-agents": agents },
};
