import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { register } from "../support/agent.ts";
import { freePort, temporaryFolder } from "../support/process.ts";
import { startTownProcess } from "../support/town-process.ts";

const KIT = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);

/** Keeps the child on this machine: every other connection fails before it is tried. */
const ONLY_LOOPBACK = `data:text/javascript,${encodeURIComponent(`
  import net from "node:net";
  const { connect } = net.Socket.prototype;
  net.Socket.prototype.connect = function (...args) {
    const [first] = Array.isArray(args[0]) ? args[0] : args;
    const host = typeof first === "object" ? (first.host ?? "127.0.0.1") : args[1];
    if (host !== "127.0.0.1") throw new Error("the test may not call " + host);
    return connect.apply(this, args);
  };
`)}`;

/** One check of the kit. */
interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

it("passes every check of the MCP conformance kit for authorization servers", async () => {
  const { baseUrl, person } = await startTownProcess();
  const port = await freePort();
  const { client_id } = await register(baseUrl, {
    grant_types: ["authorization_code"],
    response_types: ["code"],
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
    token_endpoint_auth_method: "none",
  });

  const results = temporaryFolder();
  const kit = spawn(
    process.execPath,
    [
      ...["--import", ONLY_LOOPBACK, KIT, "authorization"],
      ...["--url", baseUrl, "--client-id", client_id, "--resource", `${baseUrl}/mcp`],
      ...["--port", port, "--output-dir", results],
    ],
    { env: { PATH: process.env.PATH ?? "" }, stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(kit, "close");
  for await (const line of createInterface({ input: kit.stdout })) {
    if (!line.startsWith(`${baseUrl}/oauth/authorize?`)) continue;
    const callback = await person().authorize(line);
    expect((await fetch(callback)).status).toBe(200);
  }

  expect(checksIn(results)).toEqual([
    { id: "authorization-code-grant", status: "SUCCESS" },
    { id: "authorization-server-metadata", status: "SUCCESS" },
    { id: "authorization-server-metadata-cimd", status: "SUCCESS" },
  ]);
  expect((await ended)[0]).toBe(0);
});

function checksIn(folder: string): readonly Check[] {
  return globSync("**/checks.json", { cwd: folder })
    .flatMap((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Check[])
    .map(({ id, status, errorMessage }) => ({ id, status, ...(errorMessage && { errorMessage }) }))
    .sort((one, other) => one.id.localeCompare(other.id));
}
