// @module-tag full

import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { register } from "../support/agent.ts";
import { printScenarios, startKit } from "../support/conformance-kit.ts";
import { freePort } from "../support/free-port.ts";
import { startTestServiceProcess } from "../support/test-service-process.ts";

it("the authorization server passes every check of the MCP conformance suite", async () => {
  const { baseUrl, person } = await startTestServiceProcess();
  const port = await freePort();
  const { client_id } = await register(baseUrl, {
    grant_types: ["authorization_code"],
    response_types: ["code"],
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
    token_endpoint_auth_method: "none",
  });

  const kit = startKit(
    ...["authorization", "--url", baseUrl, "--client-id", client_id],
    ...["--resource", `${baseUrl}/mcp`, "--port", port],
  );
  for await (const line of createInterface({ input: kit.process.stdout })) {
    if (!line.startsWith(`${baseUrl}/oauth/authorize?`)) continue;
    const callback = await person().authorize(line);
    expect((await fetch(callback)).status).toBe(200);
  }

  const { code, scenarios } = await kit.ended;
  printScenarios("MCP authorization server", scenarios);
  const checks = scenarios.flatMap((scenario) => scenario.checks);
  expect(checks.sort((one, other) => one.id.localeCompare(other.id))).toEqual([
    { id: "authorization-code-grant", status: "SUCCESS" },
    { id: "authorization-server-metadata", status: "SUCCESS" },
    { id: "authorization-server-metadata-cimd", status: "SUCCESS" },
  ]);
  expect(code).toBe(0);
});
