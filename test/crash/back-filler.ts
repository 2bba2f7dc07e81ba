import { createPoller } from "../../src/ingest/poller.ts";
import { openProviderClient } from "../../src/ingest/provider-client.ts";
import type { Store } from "../../src/store/port/store.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { followProvider } from "../support/providers/follow.ts";
import type { Rig } from "../support/providers/rigs.ts";
import { type BackFill, CLOCK_HEADER, endOf, optionsOf, rigsOf } from "./back-fill-plan.ts";

/** Command-line argument of this process, as JSON. */
interface Task {
  readonly plan: BackFill;
  readonly folder: string;
  /** Base URL of the local servers; the first path segment is the id of the provider. */
  readonly origin: string;
  /** Simulated time of the last request to each provider, Unix milliseconds. */
  readonly clocks: Readonly<Record<string, number>>;
}

const task = JSON.parse(process.argv[2] ?? "") as Task;
const { plan, folder } = task;
const store = await openEmbedded({ folder, mode: "sandbox", now: Date.now });
await Promise.all(rigsOf(plan).map((rig) => fillFrom(rig, store)));
await store.close();

/** Requests the whole history of one provider, on a simulated clock. */
async function fillFrom(rig: Rig, { records, archive }: Store): Promise<void> {
  const { provider } = rig;
  const clock = { now: task.clocks[provider.id] ?? plan.begins };
  const now = () => clock.now;
  const line = openProviderClient({
    origin: provider.origin,
    mirror: `${task.origin}/${provider.id}`,
    now,
  });
  const poller = createPoller({
    ...{ provider, records, archive, now, random: () => 0.5 },
    series: provider.series(optionsOf(plan, rig)),
    ask: ({ headers, ...request }) =>
      line.ask({ ...request, headers: { ...headers, [CLOCK_HEADER]: String(now()) } }),
  });
  await followProvider(poller, clock, endOf(plan, rig));
  await line.close();
}
