// @module-tag full

import { afterEach, describe, expect, it } from "vitest";
import { allScopes } from "../../src/auth/scopes.ts";
import { APP_URI } from "../../src/http/mcp/protocol.ts";
import { newToken, register, tokenOf } from "../support/agent.ts";
import { type HostChoice, type ShownApp, startAppHost } from "../support/app-host.ts";
import { startBrowser } from "../support/browser.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { mcpAsks, resultOf } from "../support/mcp-messages.ts";
import { startTestService } from "../support/test-service.ts";

/** Maximum size of the document, in bytes. */
const MAX_BYTES = 60_000;

const browser = await startBrowser();
const openApp = await startAppHost(browser);
const { base, person } = await startTestService();
const { eras, askNew, askOld } = mcpAsks(base, await person().createKey(allScopes));

/** A result of a tool. */
interface Result {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

const call = (name: string, given: object, ask = askNew) =>
  resultOf<Result>(ask("tools/call", { name, arguments: given }));

interface Document {
  readonly contents: readonly {
    readonly uri: string;
    readonly mimeType: string;
    readonly text: string;
    readonly _meta: object;
  }[];
}

const {
  contents: [{ text: html } = { text: "" }],
} = await resultOf<Document>(askNew("resources/read", { uri: APP_URI }));

const callServer: NonNullable<HostChoice["callServer"]> = ({ name, arguments: given }) =>
  call(name, given);

let shown: ShownApp | undefined;

/** Shows the app in a host whose tools are those of the service. */
async function showApp(choice: Partial<HostChoice> = {}): Promise<ShownApp> {
  shown = await openApp({ html, callServer, ...choice });
  return shown;
}

afterEach(async () => {
  expect(shown?.complaints ?? []).toEqual([]);
  await shown?.page.close();
  shown = undefined;
});

/** Shows the result of a tool, as a host does. */
async function showResult(name: string, given: object, choice: Partial<HostChoice> = {}) {
  const opened = await showApp({
    context: { toolInfo: { tool: { name, inputSchema: { type: "object" } } } },
    ...choice,
  });
  await opened.send("sendToolInput", { arguments: given });
  await opened.send("sendToolResult", await call(name, given));
  await opened.app.locator("article h1").waitFor();
  return opened;
}

const symbol = "ALDER.SIM";

describe.each(eras)("the app for a client of $era", ({ ask }) => {
  it("is one document of at most 60 kB that names no other address than the service", async () => {
    const { contents } = await resultOf<Document>(ask("resources/read", { uri: APP_URI }));
    expect(contents).toEqual([
      {
        ...{ uri: APP_URI, mimeType: "text/html;profile=mcp-app", text: html },
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

  it("is linked from the tools that it draws, in both forms that hosts know", async () => {
    const { tools } = await resultOf<{
      readonly tools: readonly { readonly name: string; readonly _meta?: object }[];
    }>(ask("tools/list"));
    const linked = tools.filter(({ _meta }) => _meta !== undefined);
    expect(linked.map(({ name }) => name).sort()).toEqual([
      ...["get_factors", "get_signal", "get_track_record", "register_alert"],
    ]);
    for (const { _meta } of linked) {
      expect(_meta).toEqual({ ui: { resourceUri: APP_URI }, "ui/resourceUri": APP_URI });
    }
  });

  it("needs a token and no scope", async () => {
    const token = await newToken(base, { scope: "darkpool:read" });
    const read = (uri: string) => ask("resources/read", { uri }, token);
    expect((await read(APP_URI)).status).toBe(200);
    expect((await read("market://signals/ALDER.SIM")).status).toBe(403);
  });
});

/** Calls whose answers the app draws, by a name for their pictures. */
const calls: readonly (readonly [picture: string, name: string, given: object])[] = [
  ["signal", "get_signal", { symbol }],
  ["signal-full", "get_signal", { symbol, detail: "full", since: "2026-11-21T04:00:00Z" }],
  ["coin", "get_signal", { symbol: "DRIMO-USD.SIM" }],
  ["history", "get_signal", { symbol, last: 120, detail: "full" }],
  ["list", "get_signal", { limit: 8, sort: "score" }],
  ["factors", "get_factors", { symbol }],
  ["factors-full", "get_factors", { symbol, detail: "full" }],
  ["record", "get_track_record", {}],
  ["alert", "register_alert", { symbols: [symbol], kinds: ["signal_shift", "range"] }],
  ["refusal", "register_alert", { symbols: ["NOBODY"] }],
];

/** Waits until the host has followed the height of the content. */
const settled = async ({ page, app }: ShownApp): Promise<void> => {
  await expect
    .poll(async () => {
      const box = await page.locator("iframe").boundingBox();
      return (
        (await app.evaluate<number>("content.getBoundingClientRect().height")) - (box?.height ?? 0)
      );
    })
    .toBeLessThanOrEqual(0);
};

describe("the picture", () => {
  it.each(calls)("of %s is whole in both themes from 320 pixels", async (picture, name, given) => {
    const opened = await showResult(name, given);
    const { app, page } = opened;
    for (const theme of ["light", "dark"]) {
      await opened.send("sendHostContextChange", { theme });
      for (const width of [320, 640]) {
        await page.setViewportSize({ width, height: 700 });
        await settled(opened);
        await photograph(page, `app-${picture}-${width}-${theme}`);
        const wide = await app.evaluate("document.documentElement.scrollWidth");
        expect(wide).toBeLessThanOrEqual(width);
        expect(await accessibilityFaults(app)).toEqual([]);
      }
    }
  });

  it.each(calls.slice(0, 8))(
    "of %s is the same in both eras, and from text alone",
    async (_, name, given) => {
      const { send, app } = await showResult(name, given);
      const picture = await app.locator("article").innerText();
      const older = await call(name, given, askOld);
      await send("sendToolResult", older);
      expect(await app.locator("article").innerText()).toBe(picture);
      await send("sendToolResult", { content: [] });
      await app.locator("pre").waitFor();
      await send("sendToolResult", { content: older.content });
      expect(await app.locator("article").innerText()).toBe(picture);
    },
  );

  it("of the factors adds up to the score", async () => {
    const { app } = await showResult("get_factors", { symbol, detail: "full" });
    const { structuredContent: answer } = await call("get_factors", { symbol, detail: "full" });
    const rows = await app
      .locator(".factor .value data")
      .evaluateAll((figures) => figures.map((one) => Number(one.getAttribute("value"))));
    const sum = Number(await app.locator(".sum .value data").getAttribute("value"));
    expect(rows).toHaveLength(4);
    expect(sum).toBeCloseTo(50 + rows.reduce((total, one) => total + one, 0), 9);
    expect(sum).toBeCloseTo(Number(answer?.scoreRaw), 9);
  });
});

describe("a host", () => {
  it("sets theme, colors, insets and language, and nothing that loads", async () => {
    const variables = {
      "--color-background-primary": "rgb(1, 2, 3)",
      "--color-text-primary": "url(https://elsewhere.example/x)",
      "--ground": "red",
    };
    const { app, send } = await showResult(
      "get_signal",
      { symbol },
      {
        context: {
          theme: "dark",
          styles: { variables },
          safeAreaInsets: { top: 30, right: 0, bottom: 1e9, left: 0 },
        },
      },
    );
    const styleOf = (selector: string, property: string) =>
      app.evaluate<string>(
        `getComputedStyle(document.querySelector("${selector}")).getPropertyValue("${property}")`,
      );
    expect(await styleOf("body", "background-color")).toBe("rgb(1, 2, 3)");
    expect(await styleOf("body", "color")).toBe("rgb(231, 235, 232)");
    expect(await styleOf("html", "color-scheme")).toBe("dark");
    expect(await styleOf("#content", "padding-top")).toBe("46px");
    expect(await styleOf("#content", "padding-bottom")).toBe("216px");
    await send("sendHostContextChange", {
      theme: "light",
      locale: "de-DE",
      timeZone: "America/New_York",
    });
    expect(await styleOf("body", "color")).toBe("rgb(27, 31, 30)");
    await send("sendToolResult", await call("get_signal", { symbol }));
    expect(await app.locator("article").innerText()).toContain("21. Nov. 2026, 00:00 GMT-5");
    await send("sendHostContextChange", { locale: "no language", timeZone: "Nowhere/City" });
    await send("sendToolResult", await call("get_signal", { symbol }));
    expect(await app.locator("article").innerText()).toContain("21. Nov. 2026, 00:00 GMT-5");
  });

  it("hears how high the content is, after the handshake, when it changes and not again", async () => {
    const opened = await showResult("get_factors", { symbol });
    const { app, asked } = opened;
    await settled(opened);
    const before = await asked("size");
    await app.locator("summary").first().click();
    await settled(opened);
    const after = await asked("size");
    expect(after.length).toBeGreaterThan(before.length);
    expect(Number(after.at(-1)?.height)).toBeGreaterThan(Number(before.at(-1)?.height));
    await app.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
    );
    expect(await asked("size")).toHaveLength(after.length);
  });

  it("offers more room where it can", async () => {
    const modes = { availableDisplayModes: ["inline", "fullscreen"], displayMode: "inline" };
    const { app, asked } = await showResult("get_signal", { symbol }, { context: modes });
    await app.getByRole("button", { name: "Larger" }).click();
    await app.getByRole("button", { name: "Smaller" }).waitFor();
    expect(await asked("mode")).toEqual([{ mode: "fullscreen" }]);
  });

  it("without tools and links is offered neither", async () => {
    const { app } = await showResult("get_signal", { symbol }, { capabilities: {} });
    expect(await app.locator("article button").count()).toBe(0);
  });

  it("lets a person look further, and back", async () => {
    const { app, asked } = await showResult("get_signal", { symbol });
    const first = await app.locator("article").innerText();
    await app.getByRole("button", { name: "Factors" }).click();
    await app.getByText("The four factors").waitFor();
    expect(await asked("call")).toMatchObject([
      { name: "get_factors", arguments: { symbol, detail: "full" } },
    ]);
    await app.getByRole("button", { name: "Back" }).click();
    expect(await app.locator("article").innerText()).toBe(first);
    await app.getByRole("button", { name: "Open the page" }).click();
    await expect.poll(() => asked("link")).toEqual([{ url: `${base}/market/ALDER.SIM` }]);
  });

  it("streams what a tool is called with, and may stop it", async () => {
    const { app, send, asked } = await showApp();
    await send("sendToolInputPartial", { arguments: {} });
    await send("sendToolInputPartial", {
      arguments: { symbols: ["ALD"], kinds: ["no such kind", 7] },
    });
    await app.getByText("ALD", { exact: true }).waitFor();
    await send("sendToolInput", { arguments: { symbols: [symbol], kinds: ["range"] } });
    await app.getByText("a close outside the expected range").waitFor();
    await send("sendToolCancelled", { reason: "the person said no" });
    expect(await app.locator("article").innerText()).toContain(
      "Nothing was made or changed. The reason given: the person said no",
    );
    expect(await asked("call")).toEqual([]);
  });

  it("ends it: nothing is asked or shown any more", async () => {
    const { app, page, send } = await showResult("get_signal", { symbol });
    const before = await app.locator("article").innerText();
    expect(await page.evaluate("bridge.teardownResource({})")).toEqual({});
    expect(await app.locator("button:enabled").count()).toBe(0);
    await send("sendToolResult", await call("get_track_record", {}));
    expect(await app.locator("article").innerText()).toBe(before);
  });
});

/** Fills in the form for an alert up to the question. */
async function review({ app }: ShownApp): Promise<void> {
  await app.getByRole("button", { name: "Alert me" }).click();
  await app.getByLabel("To my webhook").check();
  await app.getByLabel("Address of the webhook").fill("javascript:alert(1)");
  await app.getByRole("button", { name: "Review" }).click();
  await app.getByText("A webhook is an address that begins with https").waitFor();
  await app.getByLabel("The assistant asks for them").check();
  await app.getByLabel("Points of score").fill("20");
  await app.getByLabel("Name, if you like").fill("mine & yours");
  await app.getByRole("button", { name: "Review" }).click();
  await app.getByRole("heading", { name: "Make this alert?" }).waitFor();
}

interface Alerts {
  readonly items: readonly { readonly id: string; readonly label: string | null }[];
}

const alertsNow = async () => {
  const { structuredContent } = await call("list_alerts", {});
  return (structuredContent as unknown as Alerts).items;
};

describe("an alert", () => {
  it("is made once a person has agreed to it, and the model is told", async () => {
    const before = (await alertsNow()).length;
    const opened = await showResult("get_signal", { symbol });
    const { app, asked, page } = opened;
    await app.getByRole("button", { name: "Alert me" }).click();
    expect(await accessibilityFaults(app)).toEqual([]);
    await settled(opened);
    await photograph(page, "app-form-640-light");
    await app.getByRole("button", { name: "Not now" }).click();
    await review(opened);
    expect(await accessibilityFaults(app)).toEqual([]);
    await settled(opened);
    await photograph(page, "app-consent-640-light");
    expect(await asked("call")).toEqual([]);
    await app.getByRole("button", { name: "Make the alert" }).click();
    await app.getByRole("heading", { name: "The alert is made" }).waitFor();
    const [made] = await asked("call");
    expect(made).toMatchObject({
      name: "register_alert",
      arguments: {
        ...{ symbols: [symbol], scoreMove: 20, label: "mine & yours", delivery: { type: "poll" } },
        idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    });
    const alerts = await alertsNow();
    expect(alerts).toHaveLength(before + 1);
    expect(alerts.map(({ label }) => label)).toContain("mine & yours");
    await expect
      .poll(async () => JSON.stringify(await asked("context")))
      .toContain("The person made the alert alert_");
  });

  it("is not made if the host refuses, and made once if it is tried again", async () => {
    const before = (await alertsNow()).length;
    let tries = 0;
    const opened = await showResult(
      "get_signal",
      { symbol },
      {
        callServer: async ({ name, arguments: given }) => {
          tries++;
          if (tries === 1) throw new Error("not allowed <b>here</b>");
          const made = await call(name, given);
          // The second answer is lost on its way.
          if (tries === 2) throw new Error("lost");
          return made;
        },
      },
    );
    const { app, asked } = opened;
    await review(opened);
    const agree = app.getByRole("button", { name: "Make the alert" });
    await agree.click();
    await app.getByText("The host refused").waitFor();
    expect(await alertsNow()).toHaveLength(before);
    await agree.click();
    await app.getByText("lost").waitFor();
    await agree.click();
    await app.getByRole("heading", { name: "The alert is made" }).waitFor();
    expect(await alertsNow()).toHaveLength(before + 1);
    const keys = (await asked("call")).map(
      (one) => (one.arguments as { idempotencyKey: string }).idempotencyKey,
    );
    expect(new Set(keys).size).toBe(1);
  });

  it("that fails says why and what next, and can be changed", async () => {
    const { app } = await showResult("register_alert", { symbols: ["NOBODY"] });
    const said = (await call("register_alert", { symbols: ["NOBODY"] })).content[0]?.text ?? "";
    expect(await app.locator("article").innerText()).toContain(
      said.replace("unknown_symbol: ", ""),
    );
    await app.getByRole("button", { name: "Change and try again" }).click();
    await app.getByLabel("Instruments").fill("ALDER.SIM, BYTEN.SIM");
    await app.getByRole("button", { name: "Review" }).click();
    await app.getByText("ALDER.SIM, BYTEN.SIM").waitFor();
  });

  it("of an agent that nobody has claimed leads to the claim page", async () => {
    const token = await tokenOf(base, await register(base));
    const given = { symbols: [symbol] };
    const result = await resultOf<Result>(
      askOld("tools/call", { name: "register_alert", arguments: given }, token),
    );
    const { app, send, asked } = await showApp();
    await send("sendToolInput", { arguments: given });
    await send("sendToolResult", result);
    const { next, claim } = result.structuredContent as {
      next: string;
      claim: { page: string; code: string };
    };
    const text = await app.locator("article").innerText();
    expect(text).toContain(next);
    expect(text).toContain(claim.code);
    await app.getByRole("button", { name: "Open the claim page" }).click();
    await expect.poll(() => asked("link")).toEqual([{ url: claim.page }]);
  });
});
