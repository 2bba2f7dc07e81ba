import { PROGRESS_KEY, progressRecords } from "../../src/alerts/rules/evaluation-state.ts";
import { leases } from "../../src/store/lease.ts";
import type { Records } from "../../src/store/port/records.ts";
import { type Receiver, startReceiver } from "../support/receivers.ts";
import { type Callers, startCallers, tellFailures } from "./callers.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { onCluster } from "./on-cluster.ts";
import { openStore } from "./open-store.ts";
import type { Measure, Outcome } from "./outcome.ts";
import { until } from "./until.ts";
import { type Asker, eventsFor, type Told, watch } from "./watching.ts";

/** Length of a session, in seconds: alerts fire in most of them. */
const SESSION_SECONDS = "4";

/** What all processes have. */
const ENV = { SANDBOX_SESSION_SECONDS: SESSION_SECONDS, ALLOW_INSECURE_WEBHOOKS: "1" };

/** Who asks each of the processes that go on. */
const CALLERS = { keeping: 5, fresh: 2, pauseMs: 300 };

/** Another process leads after this many milliseconds. */
const GOAL_MS = 10_000;

/** Attempts to let two services begin to watch at the same session. */
const ATTEMPTS = 12;

/** Interval at which the delivered events are read, in milliseconds. */
const READ_MS = 500;

const BUSY = "the machine is too busy";

const SCOPES = "signals:read alerts:write";

/** A delivery that a killed process had taken comes again within this time, in milliseconds. */
const LEASE_MS = 75_000;

/** Events before the kill and after it. */
const EVENTS = 20;

/** Options of the failover. */
export interface Failover {
  /** Whether to wait until what the killed process had taken was delivered by another. */
  readonly untilDelivered: boolean;
}

/** Kills the process that leads, by kill -9, while alerts fire and many call. */
export function leaderFailover(how: Failover): Promise<Outcome> {
  return onCluster("kill -9 of the leader of 3 processes", ENV, async (cluster, server) => {
    const apart = await openCluster(await server.createDatabase(), ENV);
    try {
      return await kill(cluster, apart, how);
    } finally {
      await apart.end();
    }
  });
}

/** @param apart What nothing happens to. */
async function kill(
  cluster: Cluster,
  apart: Cluster,
  { untilDelivered }: Failover,
): Promise<readonly Measure[]> {
  const store = await openStore(cluster.databaseUrl);
  const storeApart = await openStore(apart.databaseUrl);
  const receiver = await startReceiver();
  const calling: Callers[] = [];
  const stopCalling = () => Promise.all(calling.map((callers) => callers.stop()));
  try {
    const { leader, holder, one, two, control } = await setStage(
      { ...cluster, records: store.records },
      { ...apart, records: storeApart.records },
      receiver,
    );
    for (const asker of [one, two]) calling.push(startCallers({ ...asker, ...CALLERS }));

    // Right after a delivery there are others under way.
    await receiver.arrived(receiver.received.length + 1);
    leader.kill();
    const killedAt = performance.now();
    await until(async () => ![undefined, holder].includes(await holderIn(store.records)));
    const ledMs = performance.now() - killedAt;
    await untilTold(two, (await eventsFor(one)).length + EVENTS);
    const toldMs = performance.now() - killedAt;
    await stopCalling();
    const [events, undisturbed] = [await eventsFor(two), await eventsFor(control)];
    const undelivered = () => undeliveredOf(events, receiver);
    if (untilDelivered) await until(async () => undelivered() === 0, { patienceMs: LEASE_MS });
    const goal = untilDelivered ? { most: 0 } : {};
    return [
      { name: "another process leads after", unit: "ms", value: ledMs, most: GOAL_MS },
      { name: `${EVENTS} more events after`, unit: "ms", value: toldMs },
      ...compared(events, undisturbed),
      { name: "events not delivered yet", value: undelivered(), ...goal },
      { name: "requests to the others answered", value: sum(calling, answeredBy), least: 50 },
      { name: "of these failed", value: sum(calling, tellFailures), most: 0 },
    ];
  } finally {
    await stopCalling();
    await receiver.close();
    await Promise.all([store.close(), storeApart.close()]);
  }
}

/** A cluster with the records of its store. */
interface Kept extends Cluster {
  readonly records: Records;
}

/** Starts the process that leads, two others and one apart, all of which have told the same events. */
async function setStage(cluster: Kept, apart: Kept, receiver: Receiver) {
  const { records } = cluster;
  const leader = await cluster.start();
  await until(async () => (await holderIn(records)) !== undefined);
  const holder = await holderIn(records);
  const others = [await cluster.start(), await cluster.start()] as const;
  const alone = await apart.start();
  const decided = () => Promise.all([records, apart.records].map(decidedUntil));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const key = await cluster.newKey(SCOPES);
    const control: Asker = { base: alone.base, key: await apart.newKey(SCOPES) };
    const [one, two] = others.map(({ base }): Asker => ({ base, key })) as [Asker, Asker];
    const begin = await bothDecided(decided);
    const delivery = { type: "webhook", url: receiver.url };
    await Promise.all([
      watch({ base: leader.base, key }, { attempt, delivery }),
      watch(control, { attempt }),
    ]);
    if ((await decided()).some((until) => until !== begin)) continue;
    await Promise.all([untilTold(one, EVENTS), untilTold(control, EVENTS)]);
    if ((await holderIn(records)) !== holder) throw new Error(`${BUSY}: the leader lost its lease`);
    // A decision may have been under way, and may have read the alerts before they were made.
    const { lost, odd } = difference(await eventsFor(one), await eventsFor(control));
    if (lost + odd === 0) return { leader, holder, one, two, control };
  }
  throw new Error(`${BUSY}: ${ATTEMPTS} attempts to begin at the same session`);
}

/** Waits until two services have just decided the same session. @returns When it closed. */
async function bothDecided(decided: () => Promise<readonly number[]>): Promise<number> {
  const [before] = await decided();
  let now = before;
  await until(async () => {
    const [here, there] = await decided();
    now = here === there ? here : before;
    return now !== before;
  });
  return now ?? 0;
}

/** The last session that is decided, by its close, Unix milliseconds of the market. */
async function decidedUntil(records: Records): Promise<number> {
  return (await records.get(progressRecords, PROGRESS_KEY))?.value.until ?? 0;
}

async function holderIn(records: Records): Promise<string | undefined> {
  return (await records.get(leases, "leader"))?.value.holder;
}

const untilTold = (asker: Asker, events: number): Promise<void> =>
  until(async () => (await eventsFor(asker)).length >= events, { everyMs: READ_MS });

/** What the cluster told, against what a process told that nothing happened to. */
function compared(events: readonly Told[], control: readonly Told[]): readonly Measure[] {
  const { lost, odd } = difference(events, control);
  return [
    { name: "events", value: events.length, least: 2 * EVENTS },
    { name: "events told twice", value: events.length - namesOf(events).size, most: 0 },
    { name: "events lost", value: lost, most: 0 },
    { name: "events that should not be", value: odd, most: 0 },
    { name: "instruments with a gap in their numbers", value: gapsIn(events), most: 0 },
  ];
}

/** Events of sessions that both have told of; one of the two may be ahead. */
function difference(events: readonly Told[], control: readonly Told[]) {
  const end = [events, control].map((all) => all.at(-1)?.asOf ?? "").sort()[0] ?? "";
  const [here, there] = [events, control].map((all) =>
    namesOf(all.filter(({ asOf }) => asOf < end)),
  ) as [ReadonlySet<string>, ReadonlySet<string>];
  return { lost: missingIn(there, here), odd: missingIn(here, there) };
}

const namesOf = (events: readonly Told[]): ReadonlySet<string> =>
  new Set(events.map(({ type, symbol, asOf }) => `${type} ${symbol} ${asOf}`));

const missingIn = (these: ReadonlySet<string>, there: ReadonlySet<string>): number =>
  [...these].filter((one) => !there.has(one)).length;

/** Instruments whose events are not numbered from 1 on, each number once. */
function gapsIn(events: readonly Told[]): number {
  const bySymbol = [...Map.groupBy(events, ({ symbol }) => symbol).values()];
  return bySymbol.filter((own) => {
    const numbers = own.map(({ sequence }) => sequence).sort((a, b) => a - b);
    return numbers.some((number, at) => number !== at + 1);
  }).length;
}

function undeliveredOf(events: readonly Told[], { received }: Receiver): number {
  const bodies = received.map(({ body }) => JSON.parse(body) as Delivered);
  const delivered = new Set(bodies.map(({ data }) => data.eventId));
  return events.filter(({ id }) => !delivered.has(id)).length;
}

interface Delivered {
  readonly data: { readonly eventId?: string };
}

const answeredBy = ({ answered }: Callers): number => answered();

const sum = (calling: readonly Callers[], of: (callers: Callers) => number): number =>
  calling.reduce((all, callers) => all + of(callers), 0);
