import { afterEach, expect } from "vitest";
import { allScopes } from "../../src/access/scopes.ts";
import { APP_URI } from "../../src/http/mcp/protocol.ts";
import { type HostChoice, type ShownApp, startAppHost } from "./app-host.ts";
import { startBrowser } from "./browser.ts";
import { mcpAsks, resultOf } from "./mcp-messages.ts";
import { startTestService } from "./test-service.ts";

/** The result of a tool call. */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** The answer to resources/read for the app's document. */
export interface AppResource {
  readonly contents: readonly {
    readonly uri: string;
    readonly mimeType: string;
    readonly text: string;
    readonly _meta: object;
  }[];
}

/**
 * Starts the service, and a host that displays its app. After each test, expects that the browser
 * has reported no complaint.
 */
export async function startAppService() {
  const openApp = await startAppHost(await startBrowser());
  const { base, person } = await startTestService();
  const asks = mcpAsks(base, await person().createKey(allScopes));
  const { askNew } = asks;

  const call = (name: string, given: object, ask = askNew) =>
    resultOf<ToolResult>(ask("tools/call", { name, arguments: given }));

  const {
    contents: [{ text: html } = { text: "" }],
  } = await resultOf<AppResource>(askNew("resources/read", { uri: APP_URI }));

  const callServer: NonNullable<HostChoice["callServer"]> = ({ name, arguments: given }) =>
    call(name, given);

  let shown: ShownApp | undefined;

  afterEach(async () => {
    expect(shown?.complaints ?? []).toEqual([]);
    await shown?.page.close();
    shown = undefined;
  });

  /** Displays the app in a host that passes tool calls on to the service. */
  async function showApp(choice: Partial<HostChoice> = {}): Promise<ShownApp> {
    shown = await openApp({ html, callServer, ...choice });
    return shown;
  }

  /** Displays the app with the result of a tool call. */
  async function showResult(
    name: string,
    given: object,
    { context, ...choice }: Partial<HostChoice> = {},
  ): Promise<ShownApp> {
    const opened = await showApp({
      context: { toolInfo: { tool: { name, inputSchema: { type: "object" } } }, ...context },
      ...choice,
    });
    await opened.send("sendToolInput", { arguments: given });
    await opened.send("sendToolResult", await call(name, given));
    await opened.app.locator("article h1").waitFor();
    return opened;
  }

  return { base, html, ...asks, call, showApp, showResult };
}

/** Waits until the host has adopted the height of the content. */
export const waitUntilSettled = async ({ page, app }: ShownApp): Promise<void> => {
  await expect
    .poll(async () => {
      const box = await page.locator("iframe").boundingBox();
      return (
        (await app.evaluate<number>("content.getBoundingClientRect().height")) - (box?.height ?? 0)
      );
    })
    .toBeLessThanOrEqual(0);
};

/** The text of the app's current view. */
export const viewText = ({ app }: Pick<ShownApp, "app">): Promise<string> =>
  app.locator("#view").innerText();
