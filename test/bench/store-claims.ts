import { put } from "../../src/store/port/operations.ts";
import { collection, type Operation, type Records } from "../../src/store/port/records.ts";
import { onBothStores } from "./harness/both-stores.ts";

/** Number of measured claims. */
const CLAIMS = 200;

/** Maximum number of records per claim. */
const LIMIT = 10;

const documents = { body: "x".repeat(1_000) };

/** Jobs in a queue, and the receivers whose jobs a claim must skip. */
interface Backlog {
  readonly what: string;
  /**
   * Number of skipped receivers, and number of due records of each. These records are due before
   * all others.
   */
  readonly passedOver: number;
  readonly ofEach: number;
  /** Number of receivers that have only one record, due tomorrow. */
  readonly later?: number;
  /** Number of receivers whose records can be claimed; default 10. */
  readonly open?: number;
}

const BACKLOGS: readonly Backlog[] = [
  { what: "nobody passed over", passedOver: 0, ofEach: 0 },
  { what: "1 with 10,000 due passed over", passedOver: 1, ofEach: 10_000 },
  { what: "300 with 33 due each passed over", passedOver: 300, ofEach: 33 },
  { what: "1 with 10,000 passed over, 1,000 open", passedOver: 1, ofEach: 10_000, open: 1_000 },
  { what: "300 with 33, 3,000 due tomorrow", passedOver: 300, ofEach: 33, later: 3_000 },
];

const groupsOf = (receiver: string): readonly string[] => [
  ...[`alert:${receiver}`, `alerts:agent:${receiver}`, "alerts:account:a"],
  ...[`client:${receiver}`, `endpoint:${receiver}`],
];

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

/**
 * Fills a new collection with the backlog.
 *
 * @returns The collection, and the groups of the receivers whose jobs a claim must skip.
 */
async function fill(records: Records, backlog: Backlog) {
  const { what, passedOver, ofEach, later = 0, open = 10 } = backlog;
  const jobs = collection<typeof documents>(what);
  const job = (key: string, receiver: string, dueInMs: number): Operation =>
    put(jobs, { key, value: documents, groups: groupsOf(receiver), dueInMs });
  const steps = [
    ...numbers(passedOver * ofEach).map((at) => job(`over ${at}`, `${at % passedOver}`, -10_000)),
    ...numbers(2 * CLAIMS * LIMIT).map((at) => job(`job ${at}`, `open ${at % open}`, -5_000)),
    ...numbers(later).map((at) => job(`later ${at}`, `later ${at}`, 86_400_000)),
  ];
  while (steps.length > 0) await records.commit(steps.splice(0, 1_000));
  return { jobs, except: numbers(passedOver).map((at) => `endpoint:${at}`) };
}

async function measure(records: Records, backlog: Backlog): Promise<string> {
  const { jobs, except } = await fill(records, backlog);
  const took: number[] = [];
  for (let claim = 0; claim <= CLAIMS; claim++) {
    const start = performance.now();
    const handed = await records.claimDue(jobs, { limit: LIMIT, leaseMs: 60_000, except });
    took.push(performance.now() - start);
    if (handed.some(({ key }) => !key.startsWith("job")))
      throw new Error("a skipped or later record was claimed");
    if (handed.length < LIMIT) throw new Error("a claim returned too few records");
  }
  const [first = 0, ...others] = took;
  others.sort((a, b) => a - b);
  const at = (share: number) => others[Math.floor(share * others.length)] ?? 0;
  return [first, at(0.5), at(0.9), at(0.99)].map((ms) => ms.toFixed(2).padStart(8)).join("");
}

async function report(engine: string, records: Records): Promise<void> {
  for (const backlog of BACKLOGS) {
    const figures = await measure(records, backlog);
    process.stdout.write(`${engine.padEnd(11)}${backlog.what.padEnd(39)}${figures}\n`);
  }
}

process.stdout.write(
  `Claims of ${LIMIT}, in ms: ${"first     p50     p90     p99".padStart(54)}\n`,
);
await onBothStores(report);
