import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createMetrics } from "../../../src/process/metrics.ts";

const read = (name: string) =>
  readFileSync(new URL(`../../../deploy/${name}`, import.meta.url), "utf8");

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
}

const rulesText = read("prometheus-rules.yaml");
const rules = [
  ...rulesText.matchAll(
    /- alert: (\w+)\n +expr: (.+)\n +for: (\d+[mh])\n +labels: \{ severity: (?:critical|warning) \}\n +annotations:\n +(summary: ".+"\n +next: ".+")\n/g,
  ),
].map(([, alert = "", expr = "", , annotations = ""]) => ({ alert, expr, annotations }));
const panels: readonly Panel[] = JSON.parse(read("grafana-dashboard.json")).panels;
const targets = panels.flatMap(({ title, targets }) => targets.map((one) => [title, one] as const));

/**
 * Returns the names of all samples and the labels of each metric in a scrape. `up`, `job` and
 * `instance` are added by Prometheus.
 */
async function scrape() {
  const metrics = createMetrics();
  const { meters } = metrics;
  meters.request({ method: "GET", route: "/", status: "2xx" }, 1);
  meters.toolCall({ tool: "get_signal", outcome: "ok" }, 1);
  meters.attempt("2xx", 1);
  meters.commit("ok", 1);
  const text = await metrics.text({
    ...{ version: "1", startedAt: 0, isLeader: true, openStreams: 2, shed: 3, lastErrors: [] },
    market: { mode: "live", asOf: 0, behindMs: 1_500, instruments: 1 },
    denials: { calls: 4 },
    unclaimedCapacity: { evicted: 7, refused: 8 },
    deliveries: { waiting: 5, due: 1, oldestDueMs: 2_500 },
    size: { records: 6, bytes: 15 },
    isLogSigned: true,
    backupAgeMs: 60_000,
    providers: [{ id: "one", lagMs: 9_000, failures: 0 }],
  });
  const samples = new Map<string, ReadonlySet<string>>([["up", new Set(["job", "instance"])]]);
  for (const [, name = "", labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const own = [...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) => label);
    samples.set(name, new Set([...own, ...(samples.get(name) ?? []), "job", "instance"]));
  }
  return samples;
}

const samples = await scrape();

/** Returns the metrics and labels that a PromQL expression uses. */
function namesIn(expr: string) {
  const bare = expr.replaceAll(/"[^"]*"/g, '""').replaceAll(/\[[^\]]*\]/g, "");
  const grouped = [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(", "),
  );
  const matched = [...bare.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*""/g)].map(([, label = ""]) => label);
  const rest = bare.replaceAll(/\{[^}]*\}|\bby \([^)]*\)/g, "");
  const metrics = [...rest.matchAll(/\b[a-z_]\w*\b(?!\s*\()/g)].map(([name]) => name);
  return { metrics, labels: [...grouped, ...matched] };
}

/** Asserts that every name in an expression exists, and that its brackets are balanced. */
function expectKnown(expr: string, others: readonly string[] = []): void {
  const { metrics, labels } = namesIn(expr);
  expect(metrics.length).toBeGreaterThan(0);
  for (const name of metrics) expect([...samples.keys()], expr).toContain(name);
  const known = new Set(metrics.flatMap((name) => [...(samples.get(name) ?? [])]));
  for (const label of [...labels, ...others]) expect([...known], expr).toContain(label);
  for (const [open = "", close = ""] of ["()", "{}", "[]"]) {
    expect(expr.split(open).length, expr).toBe(expr.split(close).length);
  }
}

describe("the check of a PromQL expression", () => {
  it("rejects a metric or label that does not exist, and an unbalanced parenthesis", () => {
    expect(() => expectKnown("sum(rate(market_signal_none_total[5m]))")).toThrow("none_total");
    expect(() => expectKnown("sum by (colour) (market_signal_deliveries)")).toThrow("colour");
    expect(() => expectKnown('market_signal_leader{role="x"}')).toThrow("role");
    expect(() => expectKnown("sum(market_signal_leader")).toThrow("sum");
  });
});

describe("the Prometheus alerting rules", () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s uses only metrics and labels that exist",
    (_, rule) => {
      const used = [...rule.annotations.matchAll(/\$labels\.(\w+)/g)];
      expectKnown(
        rule.expr,
        used.map(([, label = ""]) => label),
      );
    },
  );

  it("are all recognized by the test, and have unique names", () => {
    const named = rulesText.match(/ alert:/g) ?? [];
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(named.length);
  });
});

describe("the Grafana dashboard", () => {
  it.each(targets)(
    "uses only metrics and labels that exist, in the panel %j",
    (_title, { expr, legendFormat }) => {
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
      expectKnown(expr, shown);
    },
  );

  it("shows every metric of the service", () => {
    const all = targets.map(([, { expr }]) => expr).join("\n");
    const own = [...samples.keys()].filter((name) =>
      /^market_signal_(?!.*_(?:bucket|sum)$)/.test(name),
    );
    expect(own.filter((name) => !all.includes(name))).toEqual([]);
  });

  it("has no overlapping panels", () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
