import { describe, expect, it } from "vitest";
import { createEventRateCap } from "../../../src/http/request-telemetry.ts";
import { createMetrics, type GaugeValues } from "../../../src/process/metrics.ts";

const VALUES: GaugeValues = {
  ...{ version: "1", startedAt: 0, isLeader: true, openStreams: 2, shed: 3, lastErrors: [] },
  market: { mode: "live", asOf: 0, behindMs: 1_500, instruments: 1 },
  denials: { calls: 4 },
  unclaimedCapacity: { evicted: 7, refused: 8 },
  deliveries: { waiting: 5, due: 1, oldestDueMs: 2_500 },
  size: { records: 6, bytes: 15 },
  isLogSigned: false,
  backupAgeMs: 90_000,
  providers: [
    { id: "one", lagMs: 9_000, failures: 0 },
    { id: "two", lagMs: null, failures: 2 },
  ],
};

/** Returns the service's own samples by name and labels. */
async function samples(metrics: ReturnType<typeof createMetrics>, standing = VALUES) {
  const text = await metrics.text(standing);
  const own = text.split("\n").filter((line) => line.startsWith("market_signal_"));
  return Object.fromEntries(
    own.map((line) => [line.replace(/ \S+$/, ""), Number(line.split(" ").at(-1))]),
  );
}

describe("the metrics output", () => {
  it("contains the current values at each scrape", async () => {
    expect(await samples(createMetrics())).toEqual({
      'market_signal_build_info{version="1"}': 1,
      market_signal_leader: 1,
      market_signal_open_streams: 2,
      market_signal_snapshot_age_seconds: 1.5,
      'market_signal_limit_denials_total{quota="calls"}': 4,
      market_signal_agents_evicted_total: 7,
      market_signal_agents_refused_total: 8,
      market_signal_requests_shed_total: 3,
      'market_signal_deliveries{state="waiting"}': 5,
      'market_signal_deliveries{state="due"}': 1,
      market_signal_delivery_oldest_due_seconds: 2.5,
      market_signal_store_records: 6,
      market_signal_store_bytes: 15,
      market_signal_log_signed: 0,
      market_signal_backup_age_seconds: 90,
      'market_signal_provider_lag_seconds{provider="one"}': 9,
      'market_signal_provider_faults{provider="one"}': 0,
      'market_signal_provider_faults{provider="two"}': 2,
    });
  });

  it("omits gauges that the store cannot provide, instead of repeating old values", async () => {
    const metrics = createMetrics();
    await samples(metrics);
    const { deliveries: _, size: __, providers: ___, ...others } = VALUES;
    const { isLogSigned: _signed, backupAgeMs: _age, ...silent } = others;
    expect(Object.keys(await samples(metrics, { ...silent, denials: {}, shed: 0 }))).toEqual([
      'market_signal_build_info{version="1"}',
      ...["market_signal_leader", "market_signal_open_streams"],
      ...["market_signal_snapshot_age_seconds", "market_signal_agents_evicted_total"],
      ...["market_signal_agents_refused_total", "market_signal_requests_shed_total"],
    ]);
  });

  it("counts durations in cumulative buckets by label", async () => {
    const metrics = createMetrics();
    const { meters } = metrics;
    for (const seconds of [0.0005, 0.0006, 3, 60]) meters.attempt("2xx", seconds);
    meters.attempt("unreachable", 1);
    meters.toolCall({ tool: "get_signal", outcome: "ok" }, 0.001);
    meters.request({ method: "GET", route: "/api/signals", status: "2xx" }, 0.001);
    meters.commit("ok", 0.001);
    const found = await samples(metrics);
    const name = "market_signal_delivery_attempt_duration_seconds";
    const bucket = (le: string) => found[`${name}_bucket{outcome="2xx",le="${le}"}`];
    expect(["0.0005", "0.001", "2.5", "10", "+Inf"].map(bucket)).toEqual([1, 2, 2, 3, 4]);
    expect(found[`${name}_count{outcome="2xx"}`]).toBe(4);
    expect(found[`${name}_sum{outcome="2xx"}`]).toBeCloseTo(63.0011, 6);
    expect(found[`${name}_count{outcome="unreachable"}`]).toBe(1);
    for (const labels of [
      'tool_call_duration_seconds_count{tool="get_signal",outcome="ok"}',
      'http_request_duration_seconds_count{method="GET",route="/api/signals",status="2xx"}',
      'store_commit_duration_seconds_count{outcome="ok"}',
    ]) {
      expect(found[`market_signal_${labels}`], labels).toBe(1);
    }
  });

  it("declares a type for each metric, and includes process metrics", async () => {
    const metrics = createMetrics();
    metrics.meters.commit("ok", 1);
    const text = await metrics.text(VALUES);
    expect(text).toContain("# TYPE market_signal_store_commit_duration_seconds histogram");
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
    expect(text).toMatch(/^process_resident_memory_bytes /m);
    expect(metrics.contentType).toContain("text/plain");
  });
});

describe("a cap on the rate of log lines", () => {
  it("allows a fixed number per second, and reports how many were suppressed", () => {
    const { take } = createEventRateCap(2);
    expect([0, 1, 2, 999].map(take)).toEqual([0, 0, undefined, undefined]);
    expect([1_000, 1_001, 1_002].map(take)).toEqual([2, 0, undefined]);
  });
});
