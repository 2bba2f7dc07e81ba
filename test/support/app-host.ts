import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import type { Browser, Frame, Page } from "playwright-core";
import { rolldown } from "rolldown";
import { atFileEnd } from "./file-end.ts";
import { listenLocally } from "./local-server.ts";

/** Policy that hosts must use for an app that declares no domains (MCP Apps 2026-01-26). */
const APP_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; object-src 'none'; base-uri 'self'";

/** A page that runs a script and shows frames. */
const pageWith = (
  script: string,
): string => `<!doctype html><html lang="en"><head><title>Host</title>
<meta charset="utf-8"><style>body{margin:0}iframe{border:0;width:100%;display:block}iframe[title=app]{height:100vh}</style>
<link rel="icon" href="data:,"></head><body><script src="${script}"></script></body></html>`;

/** Options of a host in a test. */
export interface HostChoice {
  readonly html: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly capabilities?: Readonly<Record<string, object>>;
  /** Calls a tool of the server for the app. */
  readonly callServer?: (call: { readonly name: string; readonly arguments: object }) => unknown;
  readonly width?: number;
}

/** An app that a host shows. */
export interface ShownApp {
  readonly page: Page;
  /** The document of the app. */
  readonly app: Frame;
  /** Errors and warnings of the browser, and requests to elsewhere. */
  readonly complaints: readonly string[];
  /** Requests of the app to the host, by name, with their parameters. */
  asked(name: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Lets the host send something by a method of its bridge, and waits until the app has taken it. */
  send(method: string, params: object): Promise<void>;
}

/** Starts a web page that shows apps with the official bridge, in a sandbox from another origin.
 *  @returns A function that shows one. */
export async function startAppHost(
  browser: Browser,
): Promise<(choice: HostChoice) => Promise<ShownApp>> {
  const sandboxScript = await readFile(join(import.meta.dirname, "app-sandbox.js"), "utf8");
  const sandbox = await serveScript(sandboxScript, APP_POLICY);
  const host = await serveScript(await bridgeScript());
  return (choice) => show(browser, { host, sandbox }, choice);
}

/** Serves a script and a page that runs it. @returns The origin. */
async function serveScript(script: string, policy?: string): Promise<string> {
  const server = createServer((req, res) => {
    const isScript = req.url === "/script.js";
    res.setHeader("Content-Type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    if (policy !== undefined) res.setHeader("Content-Security-Policy", policy);
    res.end(isScript ? script : pageWith("/script.js"));
  });
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return listenLocally(server);
}

/** The official bridge with what it imports, as a script for browsers. */
async function bridgeScript(): Promise<string> {
  const input = join(import.meta.dirname, "app-host.js");
  const build = await rolldown({ input, platform: "browser", logLevel: "silent" });
  const { output } = await build.generate({ format: "iife" });
  return output[0].code;
}

const CAPABILITIES = { serverTools: {}, openLinks: {}, updateModelContext: { text: {} } };

async function show(
  browser: Browser,
  origins: { readonly host: string; readonly sandbox: string },
  choice: HostChoice,
): Promise<ShownApp> {
  const { html, context = {}, capabilities = CAPABILITIES, callServer, width = 640 } = choice;
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  const complaints: string[] = [];
  // The bridge itself tells of every message, for debugging.
  page.on("console", (message) => message.type() !== "debug" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  const known: readonly string[] = Object.values(origins);
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (!known.includes(origin) && protocol !== "data:") complaints.push(`asked ${request.url()}`);
  });
  await page.exposeFunction("callServer", callServer ?? (() => ({ content: [] })));
  await page.goto(origins.host);
  const options = { html, sandbox: origins.sandbox, context, capabilities };
  await run(page, `openApp(${JSON.stringify(options)})`);
  const [, , app] = page.frames();
  if (app === undefined) throw new Error("the host shows no app");
  return {
    page,
    app,
    complaints,
    asked: async (name) =>
      (await run<readonly (readonly [string, Readonly<Record<string, unknown>>])[]>(page, "asked"))
        .filter(([one]) => one === name)
        .map(([, params]) => params),
    send: (method, params) => run(page, `send("${method}", ${JSON.stringify(params)})`),
  };
}

const run = <T>(page: Page, code: string): Promise<T> => page.evaluate(code) as Promise<T>;
