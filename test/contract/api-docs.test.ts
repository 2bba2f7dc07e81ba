import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { sampleRequest, samplesOf } from "../../src/http/docs/code-samples.ts";
import { type ApiDescription, operationsOf } from "../../src/http/docs/described.ts";
import { groupBySection } from "../../src/http/docs/sections.ts";
import { newToken } from "../support/agent.ts";
import { sharedTestService } from "../support/test-service.ts";

const { base } = await sharedTestService();

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  fetch(base + path, { method, headers });

const description = (await (await ask("/docs/api/openapi.json")).json()) as ApiDescription;
const operations = operationsOf(description);
const page = await (await ask("/docs/api")).text();

/** Text of the page as people read it. */
const decoded = (markup: string): string =>
  markup
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

/** The part of the page about an operation. */
function partOf(id: string): string {
  const start = page.indexOf(`<article id="${id}">`);
  return page.slice(start, page.indexOf("</article>", start));
}

describe("GET /docs/api", () => {
  it("is a page whose content security policy allows only resources of this origin", async () => {
    const response = await ask("/docs/api", { accept: "text/html,*/*;q=0.8" });
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("vary")).toContain("Accept");
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; style-src 'self';/);
    expect(policy).toContain("script-src 'self'; connect-src 'self'");
    expect(policy).not.toContain("unsafe");
    expect(page).toContain("Not investment advice.");
    expect(page).toContain('<a href="/">Market Signal and Verification Service</a>');
    expect(page.replace(/<script defer src="[^"]+"><\/script>/g, "")).not.toMatch(
      /<script|style=|\son\w+=/,
    );
  });

  it("describes every operation exactly once, in reading order, the documents last", () => {
    const ids = Array.from(page.matchAll(/<article id="(\w+)">/g), ([, id]) => id);
    const wanted = groupBySection(operations).flatMap(([, some]) => some.map(({ id }) => id));
    expect(ids.filter((id) => id !== "events")).toEqual(wanted);
    expect(wanted.toSorted()).toEqual(operations.map(({ id }) => id).toSorted());
    const order = Array.from(
      page.matchAll(/<section id="([\w-]+)" class="group">/g),
      ([, id]) => id,
    );
    expect(order).toEqual([
      ...["access", "signals", "factors", "off-exchange", "verify", "alerts", "watchlists"],
      ...["export", "clients", "service", "documents"],
    ]);
  });

  it.each(operations.map((operation) => [operation.id, operation] as const))(
    "%s: has its parameters, body, answers, errors with the next step, and code",
    (id, operation) => {
      const part = partOf(id);
      const { method, path, summary, parameters, body, answers, failures } = operation;
      expect(part).toContain(`<span class="method">${method}</span> <code>${path}</code>`);
      expect(decoded(part)).toContain(`>${summary}</a></h3>`);
      for (const { name } of parameters) expect(part, name).toContain(`<code>${name}</code>`);
      if (body) expect(part).toContain(`<code>${body.mediaType}</code>`);
      for (const { status } of answers) expect(part).toContain(`<code>${status}</code>`);
      for (const { status, code, next } of failures) {
        expect(part).toContain(`<code>${status} ${code}</code>`);
        if (next !== undefined) expect(decoded(part)).toContain(`Next, for example: ${next}`);
      }
      expect(failures.length).toBeGreaterThan(0);
      for (const { code } of samplesOf(sampleRequest(operation, base))) {
        expect(decoded(part)).toContain(`>${code}</code>`);
      }
    },
  );

  it("has unique element ids, and no broken links within the page", () => {
    const ids = Array.from(page.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id);
    expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
    const links = Array.from(page.matchAll(/href="#([^"]+)"/g), ([, id = ""]) => id);
    expect(links.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it("redirects a browser from an alternative host name to the canonical one, once, and no other client", async () => {
    const elsewhere = base.replace("127.0.0.1", "localhost");
    const come = (headers: Readonly<Record<string, string>>) =>
      fetch(`${elsewhere}/docs/api?x=1`, { headers, redirect: "manual" });
    const sent = await come({ accept: "text/html,*/*;q=0.8" });
    expect(sent.status).toBe(303);
    expect(sent.headers.get("location")).toBe(`${base}/docs/api?x=1`);
    expect(sent.headers.get("cache-control")).toBe("no-store");
    const [cookie = ""] = sent.headers.get("set-cookie")?.split(";") ?? [];
    expect((await come({ accept: "text/html", cookie })).status).toBe(200);
    for (const accept of ["*/*", "text/markdown"])
      expect((await come({ accept })).status).toBe(200);
  });

  it.each(["text/markdown", "text/markdown, text/plain;q=0.5", "text/html;q=0.5, text/markdown"])(
    "is served as Markdown for Accept: %s",
    async (accept) => {
      const response = await ask("/docs/api", { accept });
      expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
      expect(response.headers.get("vary")).toContain("Accept");
      const text = await response.text();
      expect(text).toContain("# Market Signal and Verification Service: API reference");
      expect(text).toBe(await (await ask("/docs/api.md")).text());
    },
  );

  it("names every operation exactly once in Markdown", async () => {
    const text = await (await ask("/docs/api.md")).text();
    for (const { method, path } of operations) {
      const name = `\`${method} ${path}\``;
      const lines = text.split("\n").filter((line) => line.replace("- ", "").startsWith(name));
      expect(lines.length, name).toBe(1);
    }
  });

  it.each(["/docs/api", "/docs/api.md", "/docs/api/oauth2-redirect.html"])(
    "%s answers 304 to a matching If-None-Match, and HEAD like GET",
    async (path) => {
      const first = await ask(path);
      expect(first.headers.get("cache-control")).toBe("public, max-age=300");
      const etag = first.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[\w-]{43}(-gzip)?"$/);
      const again = await ask(path, { "if-none-match": etag });
      expect([again.status, await again.text()]).toEqual([304, ""]);
      const head = await ask(path, {}, "HEAD");
      expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, etag, ""]);
      expect((await ask(path, {}, "POST")).status).toBe(405);
    },
  );

  it("loads at most 40 kB of script, from addresses with a digest", async () => {
    const addresses = Array.from(
      page.matchAll(/<(?:script defer src|link rel="stylesheet" href)="([^"]+)"/g),
      ([, address = ""]) => address,
    );
    expect(addresses.map((one) => one.split("?")[0])).toEqual([
      "/assets/pages.css",
      "/assets/reference.css",
      "/assets/reference.js",
    ]);
    const responses = await Promise.all(addresses.map((address) => ask(address)));
    for (const { status, headers } of responses) {
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("public, max-age=86400");
    }
    expect((await responses[2]?.text())?.length).toBeLessThan(40_000);
  });
});

/** Without an end, for a browser, for a person, for a claimed agent, or of a log as large as another. */
const NOT_RUN = new Set([
  "stream_alert_events",
  "authorize",
  "get_user_info",
  "get_alert_events",
  "list_watchlists",
  "get_log_consistency",
]);

const run = promisify(execFile);

/** Room for all answers, in bytes. */
const LARGE = { maxBuffer: 64 * 1024 * 1024 };

/** Operations whose example needs nothing that only its own story has: an alert, a code, a claim. */
const RUNNABLE = operations
  .filter(
    ({ id, method, path }) =>
      (method === "GET" && !path.includes("{") && !NOT_RUN.has(id)) ||
      ["call_mcp", "register_client"].includes(id),
  )
  .map((operation) => {
    const [curl, typescript] = samplesOf(sampleRequest(operation, base));
    return { id: operation.id, curl, typescript };
  });

/** The environment in which a person runs the code. */
const withToken = async () => ({ ...process.env, MARKET_SIGNAL_TOKEN: await newToken(base) });

/** The operations after whose heading nothing was printed. */
const silent = (output: string): readonly string[] =>
  output
    .split(/^@@ /m)
    .slice(1)
    .filter((part) => /^\w+\s*$/.test(part));

describe("the code samples of the page, run unchanged against the service", () => {
  it("cover the most important operations", () => {
    expect(RUNNABLE.map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        ...["get_signal", "get_factors", "get_darkpool", "find_instruments", "get_track_record"],
        "verify_signal",
        ...["export_panel", "list_alerts", "call_mcp", "register_client", "get_health"],
      ]),
    );
  });

  it("run in curl", async () => {
    const commands = RUNNABLE.map(({ id, curl }) => `echo "@@ ${id}"\n${curl.code}\necho`);
    const script = commands.join("\n").replaceAll("curl -sS", "curl -sS --fail-with-body");
    const { stdout } = await run("sh", ["-ec", script], { env: await withToken(), ...LARGE });
    expect(silent(stdout)).toEqual([]);
  });

  it("run in TypeScript", async () => {
    const folder = await mkdtemp(join(tmpdir(), "reference-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const { id, typescript } of RUNNABLE) {
      await writeFile(join(folder, `${id}.ts`), typescript.code);
    }
    // Each is a module of its own; one process runs them all.
    const lines = RUNNABLE.map(({ id }) => `console.log("@@ ${id}"); await import("./${id}.ts");`);
    await writeFile(join(folder, "all.ts"), `${lines.join("\n")}\nexport {};\n`);
    const call = run(process.execPath, [join(folder, "all.ts")], {
      env: await withToken(),
      ...LARGE,
    });
    expect(silent((await call).stdout)).toEqual([]);
  });
});
