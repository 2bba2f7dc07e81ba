import { z } from "zod";
import { alerts } from "../../alerts/alert.ts";
import { deliveries } from "../../alerts/delivery/delivery.ts";
import { faultIn, providerStatuses } from "../../ingest/provider-status.ts";
import { leases } from "../../store/lease.ts";
import { LEADER } from "../../store/maintenance.ts";
import { readAll } from "../../store/port/read-all.ts";
import { type CommandContext, defineStoreCommand } from "../command.ts";
import { isoOrNull } from "./shared.ts";
import { type Status, statusText } from "./status-text.ts";

/** Says how the service is doing. */
export const status = defineStoreCommand({
  summary: "Says how the service is doing: market, store, alerts, queue, limits and last errors.",
  notes: [
    "Without a server it says what the store tells. market-signal doctor says more of providers.",
  ],
  options: {},
  args: z.strictObject({}),

  async run(_args, context) {
    const found = await read(context);
    return {
      isGood: true,
      text: statusText(found, context.now()),
      result: resultOf(found),
      notes: [],
    };
  },
});

async function read(context: CommandContext): Promise<Status> {
  const { store, now, holder, report } = context;
  const { engine, identity, records } = store;
  const [counts, size, queue, lease] = [
    await store.counts(),
    await store.size(),
    await store.backlog(deliveries),
    await records.get(leases, LEADER),
  ];
  return {
    ...{ holder, engine, identity, counts, size, queue },
    isLed: lease !== undefined,
    alerts: await alertStates(context),
    providers: await providersOf({ records, now }),
    report: report?.(),
  };
}

/** How many alerts there are of each state. */
async function alertStates({ store }: CommandContext): Promise<Status["alerts"]> {
  const all = await readAll(store.records, alerts);
  const states = all.map(({ value: { way } }) => (way.by === "poll" ? "polled" : way.state.is));
  const count = (state: (typeof states)[number]) => states.filter((each) => each === state).length;
  return {
    ...{ active: count("active"), polled: count("polled") },
    ...{ pending: count("pending"), disabled: count("disabled") },
  };
}

async function providersOf(
  options: Parameters<typeof providerStatuses>[0],
): Promise<Status["providers"]> {
  const standings = await providerStatuses(options);
  const followed = standings?.providers.filter(({ feeds }) => feeds.length > 0) ?? [];
  return followed.map((one) => ({
    id: one.id,
    fault: faultIn(one)?.kind ?? null,
    newestAt: one.progress.newestAt,
  }));
}

/** Instants in ISO 8601, as everywhere that programs read them. */
function resultOf({ holder, engine, identity, counts, size, report, ...rest }: Status) {
  const { id: storeId, mode } = identity;
  const { bytes } = size;
  return {
    ...{ storeId, mode, engine, ...counts, bytes, answeredBy: holder, ...rest },
    providers: rest.providers.map((one) => ({ ...one, newestAt: iso(one.newestAt) })),
    server: report && {
      ...report,
      startedAt: iso(report.startedAt),
      market: { ...report.market, asOf: iso(report.market.asOf) },
    },
  };
}

const iso = (at: number | null): string | null => isoOrNull(at ?? undefined);
