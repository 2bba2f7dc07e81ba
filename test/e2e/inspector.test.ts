// @module-tag full

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { APP_MEDIA_TYPE, APP_URI } from "../../src/http/mcp/protocol.ts";
import { tools } from "../../tools/index.ts";
import { getWith, newToken } from "../support/agent.ts";
import { ONLY_LOOPBACK } from "../support/only-loopback.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";

const INSPECTOR = fileURLToPath(
  new URL(
    "../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    import.meta.url,
  ),
);

const { baseUrl } = await startProcess();
const token = await newToken(baseUrl);
const [symbol = ""] = await symbols();

async function symbols(): Promise<readonly string[]> {
  const answer = await getWith(token, `${baseUrl}/api/instruments?limit=2`);
  const { items } = (await answer.json()) as { readonly items: readonly { symbol: string }[] };
  return items.map((item) => item.symbol);
}

/** Runs the command line of the MCP Inspector, which can connect only to this machine. */
async function inspect(...command: readonly string[]) {
  const child = spawn(
    process.execPath,
    [
      ...[INSPECTOR, "--cli", `${baseUrl}/mcp`, "--transport", "http"],
      ...["--header", `Authorization: Bearer ${token}`, ...command],
    ],
    {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: temporaryFolder(),
        NODE_OPTIONS: `--import ${ONLY_LOOPBACK}`,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const closed = once(child, "close");
  const [said, warned] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await closed;
  expect(code, `${said}\n${warned}`).toBe(0);
  return { answer: JSON.parse(said) as Readonly<Record<string, unknown>>, warned };
}

describe.each(["modern", "legacy"])("the MCP Inspector in the %s era", (era) => {
  const ask = (...command: readonly string[]) => inspect("--protocol-era", era, ...command);

  it("finds no error in the tools and no unportable input schema", async () => {
    const { answer, warned } = await ask("--method", "tools/list", "--strict");
    const listed = answer.tools as readonly { readonly name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    expect(warned).toContain("0 errors");
    expect(warned).not.toContain("Path: inputSchema");
  });

  it("gets a signal", async () => {
    const call = ["--tool-name", "get_signal", "--tool-arg", `symbol=${symbol}`];
    const { answer } = await ask("--method", "tools/call", ...call);
    expect(answer.structuredContent).toMatchObject({ symbol, market: "sandbox" });
  });

  it("lists the resources: the instruments and the app", async () => {
    const { answer } = await ask("--method", "resources/list");
    expect(answer.resources).toMatchObject([
      { uri: "market://instruments", mimeType: "application/json" },
      { uri: APP_URI, mimeType: APP_MEDIA_TYPE },
    ]);
  });

  it("lists the prompt with its argument", async () => {
    const { answer } = await ask("--method", "prompts/list");
    expect(answer.prompts).toMatchObject([
      { name: "check_a_signal", arguments: [{ name: "symbol", required: true }] },
    ]);
  });
});
