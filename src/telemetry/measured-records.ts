import type { Records } from "../store/records.ts";
import type { Meters } from "./meters.ts";
import { traced } from "./traces.ts";

/** Records whose commits are measured. */
export function measuredRecords(records: Records, meters: Pick<Meters, "commit">): Records {
  return {
    ...records,
    commit: (operations) =>
      traced({ name: "store commit" }, async (span) => {
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
