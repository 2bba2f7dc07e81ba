import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type MetricsServerOptions, serveMetrics } from "../../../src/telemetry/metrics-server.ts";
import { freePort } from "../../support/free-port.ts";

const HOST = "127.0.0.1";

/** Serves metrics until the end of the test. */
function offer(port: number, more: Partial<MetricsServerOptions> = {}) {
  const told: string[] = [];
  const metrics = serveMetrics({
    ...{ host: HOST, port, contentType: "text/plain", text: async () => "up 1" },
    onError: (_error, doing) => void told.push(doing),
    ...more,
  });
  onTestFinished(() => metrics.close());
  return told;
}

describe("the server of the metrics port", () => {
  it("retries to bind the port while another process uses it, and reports the failure once", async () => {
    const other = createServer((_req, res) => void res.end("another")).listen(0, HOST);
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const told = offer(port);
    const read = () => fetch(`http://${HOST}:${port}/metrics`).then((answer) => answer.text());
    expect(await read()).toBe("another");
    other.close();
    other.closeAllConnections();
    await expect.poll(() => read().catch(() => "nobody"), { timeout: 30_000 }).toBe("up 1");
    expect(told).toEqual(["METRICS_PORT cannot be bound; it is retried"]);
  });

  it("responds with 500 when a scrape fails, and serves the next scrape", async () => {
    const port = Number(await freePort());
    let isBroken = true;
    const text = async () => {
      if (isBroken) throw new Error("no store");
      return "up 1";
    };
    const told = offer(port, { text });
    const read = () => fetch(`http://${HOST}:${port}/metrics`);
    await expect
      .poll(() =>
        read().then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(500);
    expect(told).toContain("the metrics could not be read");
    isBroken = false;
    expect(await (await read()).text()).toBe("up 1");
  });
});
