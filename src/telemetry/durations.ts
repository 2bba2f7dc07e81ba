import type { MetricObjectWithValues, MetricValue, Registry } from "prom-client";

/** Upper bounds in seconds: reads take parts of a millisecond, webhooks up to 15 s. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** A duration of something that has labels. */
export type Observe<L extends string> = (
  labels: Readonly<Record<L, string>>,
  seconds: number,
) => void;

/** The durations of one combination of labels. */
interface Series<L extends string> {
  readonly labels: Readonly<Record<L, string>>;
  /** How many there were up to each bound and above the one before; the last are beyond all. */
  readonly counts: number[];
  sum: number;
}

/**
 * Adds a histogram to what is measured. It is counted here, where a duration costs a tenth of a
 * microsecond, and not by prom-client, where it costs one; who asks for it gets the same.
 *
 * @param labelNames Their values must be few.
 */
export function durations<L extends string>(
  registry: Registry,
  { name, help, labelNames }: Described<L>,
): Observe<L> {
  const all = new Map<string, Series<L>>();
  const get = async () => ({
    ...{ name, help, type: "histogram", aggregator: "sum" },
    values: [...all.values()].flatMap((series) => valuesOf(name, series)),
  });
  registry.registerMetric({ name, get } as unknown as Parameters<Registry["registerMetric"]>[0]);
  return (labels, seconds) => {
    let key = "";
    for (const label of labelNames) key += `${labels[label]}\0`;
    let series = all.get(key);
    if (series === undefined) {
      series = { labels, counts: BOUNDS.map(() => 0).concat(0), sum: 0 };
      all.set(key, series);
    }
    const place = BOUNDS.findIndex((bound) => seconds <= bound);
    const at = place === -1 ? BOUNDS.length : place;
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += seconds;
  };
}

/** What a histogram is called. */
interface Described<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

type Value = MetricObjectWithValues<MetricValue<string>>["values"][number] & {
  readonly metricName: string;
};

/** Buckets hold what is in the smaller ones too. */
function valuesOf<L extends string>(name: string, { labels, counts, sum }: Series<L>): Value[] {
  let count = 0;
  const buckets = counts.map((own, at) => {
    count += own;
    const le = BOUNDS[at] ?? "+Inf";
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { ...labels }, value: sum },
    { metricName: `${name}_count`, labels: { ...labels }, value: count },
  ];
}
