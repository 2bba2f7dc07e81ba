import { collection, type Records } from "../../src/store/port/records.ts";
import { transact } from "../../src/store/transact.ts";
import { onBothStores } from "./harness/both-stores.ts";

/** Number of calls of each measurement. */
const CALLS = 50;

/** Number of members of the group: these many of one collection, the others of a second one. */
const MEMBERS = { few: 100, many: 100_000 };

/** Number of records that a bulk write changes at once. */
const BULK = 500;

const VALUE = { text: "x".repeat(400) };

/** The group that all records share, among the groups that a delivery of an alert has. */
const ACCOUNT = "alerts:account:a";
const groupsOf = (receiver: number): readonly string[] => [
  ...[`alert:${receiver}`, `alerts:agent:${receiver}`, ACCOUNT],
  ...[`client:${receiver}`, `endpoint:${receiver}`],
];

const few = collection<object>("few", { groups: () => [ACCOUNT] });
const many = collection<object>("many", { groups: (_, key) => groupsOf(Number(key) % 100) });
const alone = collection<object>("alone", { groups: () => [] });

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at);

async function fill(records: Records): Promise<void> {
  for (let from = 0; from < MEMBERS.many; from += BULK) {
    await transact(records, (tx) => {
      for (const at of numbers(BULK, from)) {
        tx.insert(many, { key: `${at}`, value: VALUE, dueInMs: 0 });
      }
    });
  }
  await transact(records, (tx) => {
    for (const at of numbers(MEMBERS.few)) tx.insert(few, { key: `${at}`, value: VALUE });
  });
}

/**
 * Measures calls, one after the other.
 *
 * @returns The median, the 99th percentile, and the CPU time of this process, in milliseconds.
 */
async function measure(what: string, call: (at: number) => Promise<unknown>): Promise<string> {
  const took: number[] = [];
  const before = process.cpuUsage();
  for (const at of numbers(CALLS)) {
    const start = performance.now();
    await call(at);
    took.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(before);
  const cpu = ((user + system) / 1_000 / CALLS).toFixed(2).padStart(9);
  took.sort((a, b) => a - b);
  const at = (share: number) => (took[Math.floor(share * CALLS)] ?? 0).toFixed(2).padStart(9);
  return `${what.padEnd(52)}${at(0.5)}${at(0.99)}${cpu}\n`;
}

async function report(engine: string, records: Records): Promise<void> {
  const started = performance.now();
  await fill(records);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  process.stdout.write(
    `${engine}: ${MEMBERS.many} members in one group, filled in ${seconds} s; p50, p99 and CPU in ms\n`,
  );
  const put = (tx: Parameters<Parameters<typeof transact>[1]>[0], at: number) =>
    tx.put(alone, { key: `${at}`, value: VALUE });
  const lines = [
    await measure("commit of one put without groups", (at) =>
      transact(records, (tx) => put(tx, at)),
    ),
    await measure("list of the few of a group", () =>
      records.list(few, { group: ACCOUNT, limit: 1_000 }),
    ),
    await measure("list of the few, checked by a commit", (at) =>
      transact(records, async (tx) => {
        await tx.list(few, { group: ACCOUNT, limit: 1_000 });
        put(tx, at);
      }),
    ),
    await measure("first 10 of the many, checked by a commit", (at) =>
      transact(records, async (tx) => {
        await tx.list(many, { group: ACCOUNT, limit: 10 });
        put(tx, at);
      }),
    ),
    await measure(`insert of ${BULK} with five groups`, (at) =>
      transact(records, (tx) => {
        for (const key of numbers(BULK, MEMBERS.many + at * BULK)) {
          tx.insert(many, { key: `${key}`, value: VALUE });
        }
      }),
    ),
    await measure(`claim of ${BULK} with five groups`, () =>
      records.claimDue(many, { limit: BULK, leaseMs: 3_600_000 }),
    ),
    await measure(`put of ${BULK} with five groups`, (at) =>
      transact(records, (tx) => {
        for (const key of numbers(BULK, at * BULK)) {
          tx.put(many, { key: `${key % MEMBERS.many}`, value: VALUE });
        }
      }),
    ),
    await measure(`removal of ${BULK} with five groups`, (at) =>
      transact(records, (tx) => {
        for (const key of numbers(BULK, MEMBERS.many + at * BULK)) tx.remove(many, `${key}`);
      }),
    ),
  ];
  process.stdout.write(`${lines.join("")}\n`);
}

await onBothStores(report);
