import { PROGRESS_KEY, progressRecords } from "../../src/alerts/rules/evaluation-state.ts";
import { leases } from "../../src/store/lease.ts";
import type { Records } from "../../src/store/port/records.ts";
import { type Receiver, startReceiver } from "../support/receivers.ts";
import { type Callers, printFailures, startCallers } from "./callers.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { onCluster } from "./on-cluster.ts";
import { openStore } from "./open-store.ts";
import type { Measure, Outcome } from "./outcome.ts";
import { until } from "./until.ts";
import { type EventClient, eventsFor, type ReceivedEvent, watchEvents } from "./watching.ts";

/** Length of a session in seconds; alerts fire in most sessions. */
const SESSION_SECONDS = "4";

/** Environment variables of every process. */
const ENV = { SANDBOX_SESSION_SECONDS: SESSION_SECONDS, ALLOW_INSECURE_WEBHOOKS: "1" };

/** Callers of each process that keeps running. */
const CALLERS = { keeping: 5, fresh: 2, pauseMs: 300 };

/** Goal for the time until another process becomes the leader, in milliseconds. */
const GOAL_MS = 10_000;

/**
 * Maximum number of attempts to create the same alerts in the cluster and in the control cluster
 * before the alerts of another session are evaluated.
 */
const ATTEMPTS = 12;

/** Interval at which the delivered events are read, in milliseconds. */
const READ_MS = 500;

const BUSY = "the machine is too busy";

const SCOPES = "signals:read alerts:write";

/**
 * Maximum time until a delivery that a killed process had claimed is delivered by another process,
 * in milliseconds.
 */
const LEASE_MS = 75_000;

/** Number of events to wait for before the kill, and again after it. */
const EVENTS = 20;

/** Options of the failover. */
export interface Failover {
  /**
   * Whether to wait until the deliveries that the killed process had claimed are delivered by
   * another process.
   */
  readonly untilDelivered: boolean;
}

/** Kills the leader of three processes (SIGKILL) while alerts fire and callers send requests. */
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

/**
 * Kills the leader of the cluster and measures the failover.
 *
 * @param apart Control cluster, which is not disturbed.
 */
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

    // Shortly after one delivery arrives, more deliveries are in progress.
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
      { name: "another process becomes the leader after", unit: "ms", value: ledMs, most: GOAL_MS },
      { name: `${EVENTS} further events after`, unit: "ms", value: toldMs },
      ...compared(events, undisturbed),
      { name: "events not delivered yet", value: undelivered(), ...goal },
      {
        name: "requests to the other processes answered",
        value: sum(calling, answeredBy),
        least: 50,
      },
      {
        name: "requests to the other processes failed",
        value: sum(calling, printFailures),
        most: 0,
      },
    ];
  } finally {
    await stopCalling();
    await receiver.close();
    await Promise.all([store.close(), storeApart.close()]);
  }
}

/** A cluster, with direct access to its records. */
interface Kept extends Cluster {
  readonly records: Records;
}

/**
 * Starts two clusters: the tested one (the leader and two other processes) and the control, which is
 * not disturbed. Waits until both have reported the same events.
 */
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
    const control: EventClient = { base: alone.base, key: await apart.newKey(SCOPES) };
    const [one, two] = others.map(({ base }): EventClient => ({ base, key })) as [
      EventClient,
      EventClient,
    ];
    const begin = await bothDecided(decided);
    const delivery = { type: "webhook", url: receiver.url };
    await Promise.all([
      watchEvents({ base: leader.base, key }, { attempt, delivery }),
      watchEvents(control, { attempt }),
    ]);
    if ((await decided()).some((until) => until !== begin)) continue;
    await Promise.all([untilTold(one, EVENTS), untilTold(control, EVENTS)]);
    if ((await holderIn(records)) !== holder) throw new Error(`${BUSY}: the leader lost its lease`);
    // An evaluation in progress may have read the list of alerts before these alerts were created.
    const { lost, odd } = difference(await eventsFor(one), await eventsFor(control));
    if (lost + odd === 0) return { leader, holder, one, two, control };
  }
  throw new Error(`${BUSY}: ${ATTEMPTS} attempts to start watching at the same session failed`);
}

/**
 * Waits until both clusters have just evaluated the alerts of the same new session.
 * @returns The session's close, Unix milliseconds.
 */
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

/** Close of the last session whose alerts were evaluated, in Unix milliseconds of market time. */
async function decidedUntil(records: Records): Promise<number> {
  return (await records.get(progressRecords, PROGRESS_KEY))?.value.until ?? 0;
}

async function holderIn(records: Records): Promise<string | undefined> {
  return (await records.get(leases, "leader"))?.value.holder;
}

const untilTold = (asker: EventClient, events: number): Promise<void> =>
  until(async () => (await eventsFor(asker)).length >= events, { everyMs: READ_MS });

/** Compares the events of the cluster with those of the undisturbed control. */
function compared(
  events: readonly ReceivedEvent[],
  control: readonly ReceivedEvent[],
): readonly Measure[] {
  const { lost, odd } = difference(events, control);
  return [
    { name: "events", value: events.length, least: 2 * EVENTS },
    { name: "events reported twice", value: events.length - namesOf(events).size, most: 0 },
    { name: "events lost", value: lost, most: 0 },
    { name: "events that the control does not have", value: odd, most: 0 },
    { name: "instruments with gaps in their event numbers", value: gapsIn(events), most: 0 },
  ];
}

/** Counts events that only one side reported, in sessions that both sides have completed. */
function difference(events: readonly ReceivedEvent[], control: readonly ReceivedEvent[]) {
  const end = [events, control].map((all) => all.at(-1)?.asOf ?? "").sort()[0] ?? "";
  const [here, there] = [events, control].map((all) =>
    namesOf(all.filter(({ asOf }) => asOf < end)),
  ) as [ReadonlySet<string>, ReadonlySet<string>];
  return { lost: missingIn(there, here), odd: missingIn(here, there) };
}

const namesOf = (events: readonly ReceivedEvent[]): ReadonlySet<string> =>
  new Set(events.map(({ type, symbol, asOf }) => `${type} ${symbol} ${asOf}`));

const missingIn = (these: ReadonlySet<string>, there: ReadonlySet<string>): number =>
  [...these].filter((one) => !there.has(one)).length;

/** Number of instruments whose event numbers are not exactly 1, 2, 3 and so on. */
function gapsIn(events: readonly ReceivedEvent[]): number {
  const bySymbol = [...Map.groupBy(events, ({ symbol }) => symbol).values()];
  return bySymbol.filter((own) => {
    const numbers = own.map(({ sequence }) => sequence).sort((a, b) => a - b);
    return numbers.some((number, at) => number !== at + 1);
  }).length;
}

function undeliveredOf(events: readonly ReceivedEvent[], { received }: Receiver): number {
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
