// @module-tag full

import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { startBearerProxy } from "../support/bearer-proxy.ts";
import { fixtures } from "../support/conformance-fixtures.ts";
import {
  failed,
  passed,
  printScenarios,
  requiredBy,
  startKit,
  warned,
} from "../support/conformance-kit.ts";
import { startTestService } from "../support/test-service.ts";

/** Before 2026-07-28 these need a session, which the service does not keep: a question within a
 *  call, and subscriptions. */
const needingSessions = [
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "resources-subscribe",
  "resources-unsubscribe",
  "tools-call-elicitation",
  "tools-call-sampling",
];

/** These pass, and recommend sessions and streams that can be resumed. */
const aboutSessions = ["server-sse-multiple-streams", "server-sse-polling"];

/** Scenarios of an extension, which no revision requires and the service does not announce. */
const isOfTasks = (name: string) => name.startsWith("tasks-");

/** A message is answered in one of two ways; a setting leaves all of them to the SDK's handler. */
const paths = [
  { name: "with the fast path", env: { MCP_FAST_PATH: "1" } },
  { name: "without the fast path", env: { MCP_FAST_PATH: "0" } },
];

describe.each(paths)("the MCP endpoint $name", async ({ name: path, env }) => {
  /** The service as it is, with its gate, and beside its own tools those that the kit calls. */
  const testService = await startTestService(env, { mcpAddition: fixtures });
  const url = `${await startBearerProxy(testService.base, await newToken(testService.base))}/mcp`;

  async function run(revision: string, excuseOf: (name: string) => string | undefined) {
    const { ended } = startKit("server", "--url", url, "--requirements", revision);
    const { code, scenarios } = await ended;
    printScenarios(`MCP server ${path}, requirements of ${revision}`, scenarios, excuseOf);
    return { code, scenarios };
  }

  it("meets every requirement of MCP 2026-07-28, by its conformance kit", async () => {
    const { code, scenarios } = await run("2026-07-28", (name) =>
      isOfTasks(name) ? "of the extension for tasks, which is not announced" : undefined,
    );
    expect(failed(scenarios).filter((name) => !isOfTasks(name))).toEqual([]);
    expect(warned(scenarios)).toEqual([]);
    expect(passed(scenarios)).toEqual(expect.arrayContaining([...requiredBy("2026-07-28")]));
    expect(requiredBy("2026-07-28")).toHaveLength(37);
    expect(code).toBe(0);
  });

  it("meets every requirement of MCP 2025-11-25 except the six that need a session", async () => {
    const { scenarios } = await run("2025-11-25", (name) =>
      needingSessions.includes(name) ? "needs a session" : undefined,
    );
    expect(failed(scenarios)).toEqual(needingSessions);
    expect(warned(scenarios)).toEqual(aboutSessions);
    const required = requiredBy("2025-11-25");
    expect(required).toHaveLength(30);
    expect(passed(scenarios)).toEqual(
      expect.arrayContaining(required.filter((name) => !needingSessions.includes(name))),
    );
  });

  it("rejects the kit without a token", async () => {
    const { ended } = startKit(
      ...["server", "--url", `${testService.base}/mcp`, "--scenario", "tools-list"],
      ...["--spec-version", "2026-07-28"],
    );
    expect(failed((await ended).scenarios)).toEqual(["tools-list"]);
  });

  it("logs no internal failure during the tests", () => {
    expect(testService.logged).toEqual([]);
  });
});
