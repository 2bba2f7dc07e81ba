// @module-tag full

import { describe, expect, it } from "vitest";
import { APP_URI } from "../../src/http/mcp/protocol.ts";
import { newToken, postJson } from "../support/agent.ts";
import { bearer } from "../support/alert-events.ts";
import {
  type AppResource,
  startAppService,
  viewText,
  waitUntilSettled,
} from "../support/app-service.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { resultOf } from "../support/mcp-messages.ts";

/** Maximum size of the document, in bytes. */
const MAX_BYTES = 37_000;

const { base, html, eras, askOld, call, showResult } = await startAppService();

const symbol = "ALDER.SIM";

describe.each(eras)("the app for a client of MCP $era", ({ ask }) => {
  it("is one document of at most 37 kB that references no host other than the service", async () => {
    const { contents } = await resultOf<AppResource>(ask("resources/read", { uri: APP_URI }));
    expect(contents).toEqual([
      {
        uri: APP_URI,
        mimeType: "text/html;profile=mcp-app",
        text: html,
        _meta: { ui: { prefersBorder: true } },
      },
    ]);
    const size = Buffer.byteLength(html);
    process.stdout.write(`bytes of the app: ${size}\n`);
    expect(size).toBeLessThanOrEqual(MAX_BYTES);
    const addresses = html.match(/https?:\/\/\w[\w.:-]*/g) ?? [];
    const allowed = [base, "http://www.w3.org"];
    expect(addresses.filter((one) => !allowed.includes(one))).toEqual([]);
  });

  it("is linked from get_signal alone, by both metadata keys that hosts read", async () => {
    const { tools } = await resultOf<{
      readonly tools: readonly { readonly name: string; readonly _meta?: object }[];
    }>(ask("tools/list"));
    const linked = tools.filter(({ _meta }) => _meta !== undefined);
    expect(linked.map(({ name }) => name)).toEqual(["get_signal"]);
    for (const { _meta } of linked) {
      expect(_meta).toEqual({ ui: { resourceUri: APP_URI }, "ui/resourceUri": APP_URI });
    }
  });

  it("requires a token, but no scope", async () => {
    const token = await newToken(base, { scope: "darkpool:read" });
    const read = (uri: string) => ask("resources/read", { uri }, token);
    expect((await read(APP_URI)).status).toBe(200);
    expect((await read("market://signals/ALDER.SIM")).status).toBe(403);
  });
});

describe("a client that does not support apps", () => {
  it("gets the same tools and the same answers as a client that supports them", async () => {
    const token = await newToken(base);
    const ask = async (method: string, params: object, extensions: object) => {
      const body = {
        jsonrpc: "2.0",
        id: 1,
        method,
        params: {
          ...params,
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { extensions },
          },
        },
      };
      const headers = {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(method === "tools/call" && { "mcp-name": "get_signal" }),
        ...bearer(token),
      };
      return await (await postJson(`${base}/mcp`, body, headers)).text();
    };
    const apps = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
    const signal = { name: "get_signal", arguments: { symbol } };
    expect(await ask("tools/list", {}, apps)).toBe(await ask("tools/list", {}, {}));
    const answer = await ask("tools/call", signal, {});
    expect(answer).toContain(symbol);
    expect(await ask("tools/call", signal, apps)).toBe(answer);
  });
});

/** Calls whose answers the app displays, with names for their screenshots. */
const calls: readonly (readonly [picture: string, name: string, given: object])[] = [
  ["signal", "get_signal", { symbol }],
  ["signal-full", "get_signal", { symbol, detail: "full", since: "2026-11-21T04:00:00Z" }],
  ["coin", "get_signal", { symbol: "DRIMO-USD.SIM" }],
  ["history", "get_signal", { symbol, last: 120, detail: "full" }],
  ["list", "get_signal", { limit: 8, sort: "score" }],
  ["refusal", "get_signal", { symbol: "NOBODY" }],
];

describe("the app's view", () => {
  it.each(calls)(
    "of %s fits widths of 320 pixels and more in both themes, without accessibility violations",
    async (picture, name, given) => {
      const opened = await showResult(name, given);
      const { app, page } = opened;
      for (const theme of ["light", "dark"]) {
        await opened.send("sendHostContextChange", { theme });
        for (const width of [320, 390, 700]) {
          await page.setViewportSize({ width, height: 700 });
          await waitUntilSettled(opened);
          await photograph(page, `app-${picture}-${width}-${theme}`);
          const wide = await app.evaluate("document.documentElement.scrollWidth");
          expect(wide).toBeLessThanOrEqual(width);
        }
        expect(await accessibilityFaults(app)).toEqual([]);
      }
    },
  );

  it.each(calls.slice(0, 4))(
    "of %s is the same for clients of old and new MCP versions, and when it is built from the text content alone",
    async (_, name, given) => {
      const opened = await showResult(name, given);
      const { send, app } = opened;
      const picture = await viewText(opened);
      const older = await call(name, given, askOld);
      await send("sendToolResult", older);
      expect(await viewText(opened)).toBe(picture);
      await send("sendToolResult", { content: [] });
      await app.locator("pre").waitFor();
      await send("sendToolResult", { content: older.content });
      expect(await viewText(opened)).toBe(picture);
    },
  );

  it("of a signal shows points that add up to the score", async () => {
    const { app } = await showResult("get_signal", { symbol, detail: "full" });
    const { structuredContent: answer } = await call("get_signal", { symbol, detail: "full" });
    const rows = await app
      .locator(".row:not(.sum) .value data")
      .evaluateAll((figures) => figures.map((one) => Number(one.getAttribute("value"))));
    const sum = Number(await app.locator(".sum .value data").getAttribute("value"));
    expect(rows).toHaveLength(4);
    expect(sum).toBeCloseTo(50 + rows.reduce((total, one) => total + one, 0), 9);
    expect(sum).toBeCloseTo(Number(answer?.scoreRaw), 0);
  });

  it("of a stock without a score has a dash for it, and no sum", async () => {
    const asOf = "2026-11-21T04:20:00Z";
    const { app } = await showResult("get_signal", { symbol: "DRILO.SIM", asOf });
    expect(await app.locator(".big").innerText()).toMatch(/^– of 100/);
    expect(await app.getByText("Where the score comes from").count()).toBe(1);
    expect(await app.locator(".sum").count()).toBe(0);
  });

  it("of a list is its text", async () => {
    const { app } = await showResult("get_signal", { limit: 3 });
    const { content } = await call("get_signal", { limit: 3 });
    expect(await app.locator("pre").innerText()).toBe(content[0]?.text);
  });

  it("of a history shows the columns of the answer, and states when there is another page", async () => {
    const opened = await showResult("get_signal", { symbol, last: 120, detail: "full" });
    const { app, asked } = opened;
    expect(await viewText(opened)).toContain("The sessions after these are on the next page.");
    await app.getByRole("button", { name: "Next page" }).click();
    await app.getByRole("button", { name: "Back" }).waitFor();
    expect(await viewText(opened)).not.toContain("next page");
    const [next] = await asked("call");
    expect(next).toMatchObject({ name: "get_signal", arguments: { symbol, last: 120 } });
    const { structuredContent } = await call("get_signal", Object(next?.arguments));
    const { history } = structuredContent as {
      readonly history: { readonly scoreSmoothed: readonly number[] };
    };
    const drawn = await app.locator(".plot").nth(1).locator("path").nth(2).getAttribute("d");
    const points = [...(drawn ?? "").matchAll(/[ML][\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y));
    expect(points).toEqual(
      history.scoreSmoothed.map((score) => Number((1000 - 10 * score).toFixed(1))),
    );
  });
});
