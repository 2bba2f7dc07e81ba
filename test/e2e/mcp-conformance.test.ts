// @module-tag full

import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { startBearerProxy } from "../support/bearer-proxy.ts";
import { fixtures } from "../support/conformance-fixtures.ts";
import {
  failedScenarios,
  passedScenarios,
  printScenarios,
  requiredBy,
  startKit,
  warnedScenarios,
} from "../support/conformance-kit.ts";
import { startTestService } from "../support/test-service.ts";

/**
 * Scenarios before revision 2026-07-28 that need a session, which the service does not keep:
 * requests to the client during a call, and subscriptions.
 */
const needingSessions = [
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "resources-subscribe",
  "resources-unsubscribe",
  "tools-call-elicitation",
  "tools-call-sampling",
];

/** Scenarios that pass, but recommend sessions and resumable streams. */
const aboutSessions = ["server-sse-multiple-streams", "server-sse-polling"];

/**
 * Scenarios of the tasks extension, which no revision requires and the service does not advertise.
 */
const isOfTasks = (name: string) => name.startsWith("tasks-");

describe("the MCP endpoint", async () => {
  /**
   * The complete service with its authentication gate, plus the tools that the conformance suite
   * calls.
   */
  const testService = await startTestService({}, { mcpAddition: fixtures });
  const url = `${await startBearerProxy(testService.base, await newToken(testService.base))}/mcp`;

  async function run(revision: string, excuseOf: (name: string) => string | undefined) {
    const { ended } = startKit("server", "--url", url, "--requirements", revision);
    const { code, scenarios } = await ended;
    printScenarios(`MCP server, requirements of ${revision}`, scenarios, excuseOf);
    return { code, scenarios };
  }

  it("meets every requirement of MCP 2026-07-28, according to the conformance suite", async () => {
    const { code, scenarios } = await run("2026-07-28", (name) =>
      isOfTasks(name) ? "of the extension for tasks, which is not announced" : undefined,
    );
    expect(failedScenarios(scenarios).filter((name) => !isOfTasks(name))).toEqual([]);
    expect(warnedScenarios(scenarios)).toEqual([]);
    expect(passedScenarios(scenarios)).toEqual(
      expect.arrayContaining([...requiredBy("2026-07-28")]),
    );
    expect(requiredBy("2026-07-28")).toHaveLength(37);
    expect(code).toBe(0);
  });

  it("meets every requirement of MCP 2025-11-25 except the six that require a session", async () => {
    const { scenarios } = await run("2025-11-25", (name) =>
      needingSessions.includes(name) ? "needs a session" : undefined,
    );
    expect(failedScenarios(scenarios)).toEqual(needingSessions);
    expect(warnedScenarios(scenarios)).toEqual(aboutSessions);
    const required = requiredBy("2025-11-25");
    expect(required).toHaveLength(30);
    expect(passedScenarios(scenarios)).toEqual(
      expect.arrayContaining(required.filter((name) => !needingSessions.includes(name))),
    );
  });

  it("rejects the conformance suite without a token", async () => {
    const { ended } = startKit(
      ...["server", "--url", `${testService.base}/mcp`, "--scenario", "tools-list"],
      ...["--spec-version", "2026-07-28"],
    );
    expect(failedScenarios((await ended).scenarios)).toEqual(["tools-list"]);
  });

  it("logs no internal failure during the tests", () => {
    expect(testService.logged).toEqual([]);
  });
});
