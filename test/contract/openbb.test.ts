import { beforeAll, describe, expect, it } from "vitest";
import { widgets } from "../../src/openbb/widgets.ts";
import { openbbApps } from "../../wellknown/openbb-apps.ts";
import { openbbWidgets, widgetId } from "../../wellknown/openbb-widgets.ts";
import { getWith, newToken } from "../support/agent.ts";
import {
  AppsJson,
  WidgetsJson,
  WORKSPACE_ORIGINS,
  type WorkspaceWidget,
  workspaceFaults,
} from "../support/openbb-rules.ts";
import { sharedTestService } from "../support/test-service.ts";
import { sites } from "../unit/wellknown/sites.ts";

const { base, person } = await sharedTestService();

const documentAt = async (path: string) => (await fetch(base + path)).json();
const served = WidgetsJson.parse(await documentAt("/widgets.json"));
const entries = Object.entries(served);

/** An API key, which OpenBB Workspace sends as the header x-api-key. */
let key: string;

beforeAll(async () => {
  const someone = person();
  await someone.signIn();
  key = await someone.createKey(["signals:read", "factor:read", "darkpool:read"]);
});

/**
 * Sends a request as OpenBB Workspace does, with the widget's parameters and an extra parameter
 * that Workspace adds.
 */
const ask = (
  { endpoint }: Pick<WorkspaceWidget, "endpoint">,
  params: Readonly<Record<string, string>> = {},
) =>
  fetch(`${base}${endpoint}?${new URLSearchParams({ ...params, theme: "dark" })}`, {
    headers: { "x-api-key": key, origin: WORKSPACE_ORIGINS[0] },
  });

const defaultsOf = ({ params }: WorkspaceWidget) =>
  Object.fromEntries(params.map(({ paramName, value }) => [paramName, String(value)]));

async function drawn<T>(id: string, params: Readonly<Record<string, string>> = {}): Promise<T> {
  const widget = served[id] as WorkspaceWidget;
  const response = await ask(widget, { ...defaultsOf(widget), ...params });
  expect(response.status, id).toBe(200);
  return (await response.json()) as T;
}

type Row = Readonly<Record<string, string | number | boolean | null>>;

async function toolAnswer(path: string) {
  const response = await fetch(base + path, { headers: { "x-api-key": key } });
  return (await response.json()) as Readonly<Record<string, never>>;
}

describe("widgets.json and apps.json", () => {
  it.each(Object.entries(sites))(
    "follow the rules that OpenBB documents, for this instance: %s",
    (_what, site) => {
      const both = [
        WidgetsJson.parse(openbbWidgets(site)),
        AppsJson.parse(openbbApps(site)),
      ] as const;
      expect(workspaceFaults(...both)).toEqual([]);
    },
  );

  it("are served exactly as the code generates them", async () => {
    expect(AppsJson.parse(await documentAt("/apps.json"))).toHaveLength(1);
    expect(entries.map(([id]) => id)).toEqual(widgets.map(widgetId));
  });

  it("state that the market is simulated", () => {
    for (const [, { name, description, source }] of entries) {
      expect(name).toContain("(simulated)");
      expect(description).toContain("simulated market");
      expect(source.join()).toContain("simulated");
    }
    for (const { name } of Object.values(openbbWidgets({ ...sites.ordinary, market: "live" }))) {
      expect(name).not.toContain("simulated");
    }
  });

  it("are validated by rules that reject an overlap, an unknown widget and an invalid type", () => {
    const [app] = AppsJson.parse(openbbApps(sites.ordinary));
    const [first, ...others] = app?.tabs.signals?.layout ?? [];
    const moved = { ...app, tabs: { signals: { ...app?.tabs.signals, layout: [first, first] } } };
    expect(workspaceFaults(served, AppsJson.parse([moved])).join()).toContain("overlaps");
    const lost = { ...first, i: "unknown" };
    const tabs = { signals: { ...app?.tabs.signals, layout: [lost, ...others] } };
    expect(workspaceFaults(served, AppsJson.parse([{ ...app, tabs }])).join()).toContain(
      "no such widget",
    );
    const [id, widget] = entries[0] as [string, WorkspaceWidget];
    expect(WidgetsJson.safeParse({ [id]: { ...widget, columns: [] } }).success).toBe(false);
    expect(WidgetsJson.safeParse({ [id]: { ...widget, type: "grid" } }).success).toBe(false);
  });
});

describe.each(entries)("the widget %s", (id, widget) => {
  it("for its default parameters, returns rows in the widget type's format, with every declared column", async () => {
    const read = await drawn<readonly Row[] | string>(id);
    if (widget.type === "markdown") {
      expect(read).toEqual(expect.stringMatching(/\*\*ALDER\\?\.SIM: (LONG|SHORT|WAIT)\*\*/));
      return;
    }
    const rows = read as readonly Row[];
    expect(rows.length).toBeGreaterThan(0);
    if (widget.type === "metric") {
      for (const row of rows) {
        expect(row).toEqual({ label: expect.any(String), value: expect.any(String) });
      }
      return;
    }
    const kinds = { text: "string", number: "number", boolean: "boolean" } as const;
    for (const { field, cellDataType } of widget.data?.table.columnsDefs ?? []) {
      for (const row of rows) {
        expect(Object.keys(row), field).toContain(field);
        const cell = row[field] ?? null;
        expect(cell === null || typeof cell === kinds[cellDataType as "text"], field).toBe(true);
      }
    }
  });
});

describe("a widget", () => {
  it("shows the same figures as the tool behind it", async () => {
    const rows = await drawn<readonly Row[]>("market_signal_market");
    const listed = await toolAnswer(
      "/api/signals?sort=score&limit=500&detail=full&fields=symbol,scoreRaw",
    );
    expect(rows).toHaveLength(Number(listed.total));
    expect(rows.map(({ symbol, scoreRaw }) => [symbol, scoreRaw])).toEqual(listed.rows);

    const symbol = String(rows[3]?.symbol);
    const factors = await drawn<readonly Row[]>("market_signal_factors", { symbol });
    const sum = factors.reduce((all, { contribution }) => all + Number(contribution), 0);
    expect(sum).toBeCloseTo(Number(rows[3]?.scoreRaw) - 50, 6);
    const sizes = factors.map(({ contribution }) => Math.abs(Number(contribution)));
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
  });

  it("applies its parameters, and treats Any and an empty value as no filter", async () => {
    const market = (params: Readonly<Record<string, string>>) =>
      drawn<readonly Row[]>("market_signal_market", params);
    const all = await market({ assetClass: "any", signal: "", minCoverage: "" });
    const coins = await market({ assetClass: "crypto" });
    expect(coins.length).toBeGreaterThan(0);
    expect(coins).toEqual(all.filter((row) => row.assetClass === "crypto"));
    const covered = await market({ minCoverage: "1" });
    expect(covered).toEqual(all.filter((row) => row.coverage === 1));

    const history = await drawn<readonly Row[]>("market_signal_history", { last: "5" });
    expect(history).toHaveLength(5);
    for (const id of ["market_signal_history", "market_signal_off_exchange"]) {
      const sessions = (await drawn<readonly Row[]>(id)).map((row) => String(row.session));
      expect(sessions).toEqual(sessions.toSorted());
    }
  });

  it("can be read by pages from OpenBB Workspace's origins, without cookies", async () => {
    const [, widget] = entries[0] as [string, WorkspaceWidget];
    for (const origin of WORKSPACE_ORIGINS) {
      const preflight = await fetch(base + widget.endpoint, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "GET",
          "access-control-request-headers": "x-api-key",
        },
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get("access-control-allow-headers")).toMatch(/\bX-Api-Key\b/);
      expect(preflight.headers.get("access-control-allow-methods")).toMatch(/\bGET\b/);
      for (const { headers } of [preflight, await ask(widget)]) {
        expect(headers.get("access-control-allow-origin")).toBe("*");
        // With this header, a browser would send the cookies of a signed-in person.
        expect(headers.has("access-control-allow-credentials")).toBe(false);
        expect(headers.has("set-cookie")).toBe(false);
      }
    }
  });

  it("offers the market's instruments as choices", async () => {
    const options = (await (
      await ask({ endpoint: "/api/openbb/symbols" })
    ).json()) as readonly Row[];
    const { total } = await toolAnswer("/api/instruments?limit=1");
    expect(options).toHaveLength(Number(total));
    expect(options[0]).toEqual({ label: "ALDER.SIM: Aldermoor Circuits", value: "ALDER.SIM" });
  });

  it("explains what is wrong with an invalid request", async () => {
    const [, signal] = entries[1] as [string, WorkspaceWidget];
    const unknown = await ask(signal, { symbol: "NOPE.SIM" });
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      expect.objectContaining({ code: "unknown_symbol", next: expect.any(String) }),
    ]);
    const none = await ask({ endpoint: "/api/openbb/nothing" });
    expect([none.status, await none.json()]).toEqual([
      404,
      expect.objectContaining({ next: expect.stringContaining("market, signal") }),
    ]);
    const wrong = await ask(entries[0]?.[1] as WorkspaceWidget, { minCoverage: "much" });
    expect(wrong.status).toBe(400);
  });

  it("requires the scopes of the tool behind it", async () => {
    const token = await newToken(base, { scope: "signals:read" });
    const answers = await Promise.all(
      entries.map(async ([id, { endpoint }]) => {
        const response = await getWith(token, base + endpoint);
        return [id, response.status];
      }),
    );
    expect(Object.fromEntries(answers)).toEqual({
      market_signal_market: 200,
      market_signal_signal: 200,
      market_signal_evidence: 200,
      market_signal_factors: 403,
      market_signal_history: 200,
      market_signal_off_exchange: 403,
      market_signal_track_record: 200,
    });
  });
});
