import { startChild } from "./child.ts";
import type { Ledger } from "./ledger.ts";
import type { Measure } from "./outcome.ts";
import type { Report, Seen } from "./reports.ts";

/** State of a store after its writers have ended. */
export interface Finding {
  /** Time to open the store in a new process, in milliseconds. */
  readonly openMs: number;
  readonly records: number;
  /** Why the store cannot be opened, or which faults its files have. */
  readonly damages: readonly string[];
}

/** Opens a store in a new process and compares its contents with the ledger. */
export async function checkStore(address: string, ledger: Ledger): Promise<Finding> {
  const contents = contentsCollector();
  const damages: string[] = [];
  let opened = { ms: 0, records: 0 };
  const check = startChild("check", [address], (report) => {
    contents.note(report);
    if (report.is === "open") opened = report;
    if (report.is === "damaged") damages.push(report.text);
  });
  await check.ended;
  if (contents.isComplete()) ledger.settle(contents.map);
  else if (damages.length === 0) damages.push("the check did not finish");
  for (const damage of damages) process.stderr.write(`DAMAGED: ${damage}\n`);
  return { openMs: opened.ms, records: opened.records, damages };
}

/** Collects the contents of a store from the reports of a process. */
export function contentsCollector() {
  const map = new Map<string, Seen>();
  let isComplete = false;
  return {
    map: map as ReadonlyMap<string, Seen>,
    isComplete: () => isComplete,
    note(report: Report) {
      if (report.is === "complete") isComplete = true;
      if (report.is !== "contents") return;
      for (const [place, seen] of report.contents) map.set(place, seen);
    },
  };
}

/** The measures whose goals every scenario must meet. */
export function commonMeasures({ tally }: Ledger): readonly Measure[] {
  return [
    { name: "writes acknowledged", value: tally.acknowledged, least: 1 },
    { name: "acknowledged writes lost", value: tally.lost, most: 0 },
    { name: "commits applied only in part", value: tally.half, most: 0 },
    { name: "refused writes visible", value: tally.refusedVisible, most: 0 },
    { name: "conditional commits with a wrong result", value: tally.wrong, most: 0 },
  ];
}
