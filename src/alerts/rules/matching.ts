import type { Instrument } from "../../market/instrument.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import { type Alert, type StoredAlert, statusOf } from "../alert.ts";
import { type Condition, conditionOf } from "./condition.ts";

/** The alerts that share a watch. */
export interface ConditionGroup {
  readonly watch: Condition;
  /** The snapshots of the instruments that are watched, each once. */
  watched(snapshots: ReadonlyMap<string, Snapshot>): readonly Snapshot[];
  watches(instrument: Instrument): boolean;
  /** Ids of the alerts that want to know when something happened, ascending. */
  listeners(snapshot: Snapshot): readonly string[];
}

/**
 * Groups alerts by what they look for. Those that hear nothing at present belong to it: what they
 * miss is not made up for when they listen again. One that has expired belongs to nothing.
 *
 * @param now Milliseconds since the epoch.
 */
export function groupByCondition(
  all: readonly StoredAlert[],
  now: number,
): readonly ConditionGroup[] {
  const groups = new Map<string, { readonly watch: Condition; readonly alerts: StoredAlert[] }>();
  for (const alert of all) {
    if (statusOf(alert.value, now) === "expired") continue;
    for (const kind of new Set(alert.value.kinds)) {
      const watch = conditionOf(kind, alert.value.thresholds);
      const group = groups.get(watch.key) ?? { watch, alerts: [] };
      groups.set(watch.key, group);
      group.alerts.push(alert);
    }
  }
  return [...groups.values()].map(({ watch, alerts }) => audienceOf(watch, alerts));
}

function audienceOf(watch: Condition, alerts: readonly StoredAlert[]): ConditionGroup {
  const bySymbol = new Map<string, Set<StoredAlert>>();
  const filtering: StoredAlert[] = [];
  for (const alert of alerts) {
    const { watched } = alert.value;
    if (watched.by === "filter") filtering.push(alert);
    else for (const symbol of watched.symbols) addTo(bySymbol, symbol, alert);
  }
  const watches = (instrument: Instrument): boolean =>
    bySymbol.has(instrument.symbol) || filtering.some(({ value }) => covers(value, instrument));
  return {
    watch,
    watches,
    watched(snapshots) {
      if (filtering.length === 0)
        return [...bySymbol.keys()].flatMap((one) => snapshots.get(one) ?? []);
      return [...snapshots.values()].filter(({ instrument }) => watches(instrument));
    },
    listeners: (snapshot) =>
      [...(bySymbol.get(snapshot.instrument.symbol) ?? []), ...filtering]
        .filter(({ value }) => fits(value, snapshot))
        .map(({ key }) => key)
        .sort(),
  };
}

function addTo(bySymbol: Map<string, Set<StoredAlert>>, symbol: string, alert: StoredAlert): void {
  bySymbol.set(symbol, (bySymbol.get(symbol) ?? new Set()).add(alert));
}

/** Whether an alert, as it is by now, is to hear what a watch has found. */
export const isSubscribed = (alert: Alert, watch: Condition, snapshot: Snapshot): boolean =>
  alert.kinds.includes(watch.kind) &&
  conditionOf(watch.kind, alert.thresholds).key === watch.key &&
  fits(alert, snapshot);

function fits(alert: Alert, { instrument, signal }: Snapshot): boolean {
  const { watched } = alert;
  if (!covers(alert, instrument)) return false;
  return watched.by === "symbols" || watched.signal === null || watched.signal === signal.direction;
}

function covers({ watched }: Alert, { symbol, assetClass }: Instrument): boolean {
  if (watched.by === "symbols") return watched.symbols.includes(symbol);
  return watched.assetClass === null || watched.assetClass === assetClass;
}
