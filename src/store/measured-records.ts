import type { Meters } from "../telemetry/meters.ts";
import { traceWork } from "../telemetry/traces.ts";
import type { Records } from "./port/records.ts";

/** Wraps records so that commits are measured. */
export function measuredRecords(records: Records, meters: Meters): Records {
  return {
    ...records,
    commit: (operations) =>
      traceWork({ name: "store commit" }, async (span) => {
        const startedAt = performance.now();
        const seconds = () => (performance.now() - startedAt) / 1_000;
        span.setAttribute("db.operation.batch.size", operations.length);
        try {
          const held = await records.commit(operations);
          meters.commit(held ? "ok" : "conflict", seconds());
          return held;
        } catch (error) {
          meters.commit("failed", seconds());
          throw error;
        }
      }),
  };
}
