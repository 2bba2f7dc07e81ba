import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { validate } from "dockerfile-utils";
import { describe, expect, it } from "vitest";
import pkg from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import { readConfig } from "../../src/config/config.ts";
import { environmentVariables } from "../../src/config/settings.ts";

const root = join(import.meta.dirname, "../..");
const textOf = (file: string) => readFileSync(join(root, "deploy", file), "utf8");

/** Returns the lines `NAME=value`, including lines that are commented out. */
function settingsIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
}

it("no production package is deprecated or has an install script", () => {
  const production = Object.entries(lock.packages).filter(([, entry]) => !("dev" in entry));
  const refused = production.filter(
    ([, entry]) => "deprecated" in entry || "hasInstallScript" in entry,
  );
  expect(production.length).toBeGreaterThan(100);
  expect(refused.map(([path]) => path)).toEqual([]);
});

describe("the deployment files", () => {
  it("include a valid Dockerfile, and a Compose file that passes its linter", async () => {
    expect(validate(textOf("Dockerfile"), {})).toEqual([]);
    const lint = promisify(execFile)(
      process.execPath,
      [join(root, "node_modules/dclint/bin/dclint.cjs"), "deploy/compose.yaml"],
      { cwd: root },
    );
    await expect(lint).resolves.toMatchObject({ stderr: "" });
  });

  it("start the process with the same command as `npm start`", () => {
    const words = pkg.scripts.start.split(" ");
    const options = words.filter((word) => word.includes("-size="));
    const program = ["node", ...options, "dist/market-signal.js"];
    expect(options).toHaveLength(3);
    expect(textOf("Dockerfile")).toContain(
      `ENTRYPOINT ${JSON.stringify(program).replaceAll(",", ", ")}\nCMD ["serve"]\n`,
    );
    expect(textOf("market-signal.service")).toContain(
      `\nExecStart=/usr/bin/env node ${options.join(" ")} /usr/local/bin/market-signal serve\n`,
    );
  });

  it("run the same program under systemd for the service and its backups, without a path of a checkout but Node's", () => {
    const units = ["market-signal.service", "market-signal-backup.service"].map(textOf);
    for (const unit of units) {
      const lines = unit.split("\n").filter((line) => !line.startsWith("#"));
      const paths = lines.filter((line) => line.includes("/opt/market-signal"));
      expect(paths).toEqual([
        "Environment=PATH=/opt/market-signal/node_modules/.bin:/usr/local/bin:/usr/bin:/bin",
      ]);
    }
  });

  it("copy every part of the program into the image", () => {
    const listed = [...textOf("Dockerfile.dockerignore").matchAll(/^!(.+)$/gm)].map(
      ([, path]) => path,
    );
    const copied = [...textOf("Dockerfile").matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, paths = ""]) => paths.split(" "),
    );
    expect(copied.sort()).toEqual(listed.sort());
  });

  it("use only existing settings, with valid values once the secrets are filled in", () => {
    const { POSTGRES_PASSWORD, TLS_FOLDER, ...settings } = settingsIn(textOf("example.env"));
    expect([POSTGRES_PASSWORD, TLS_FOLDER]).toEqual(["", expect.stringMatching(/^\//)]);
    expect(Object.keys(settings).filter((name) => !(name in environmentVariables))).toEqual([]);
    const image = Object.fromEntries(
      [...textOf("Dockerfile").matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = "", value]) => [
        name,
        value,
      ]),
    );
    const config = readConfig({ ...image, ...settings });
    expect(config).toMatchObject({ host: "0.0.0.0", port: 3000, proxyHops: 1 });
  });

  it("set the password and the domain in one place each", () => {
    expect(textOf("example.env").match(/PASSWORD/g)).toHaveLength(1);
    expect(textOf("example.env").match(/^[^#].*signals\.example/gm)).toHaveLength(1);
    expect(textOf("nginx.conf")).not.toContain("server_name");
    expect(textOf("compose.yaml")).toMatch(
      /DATABASE_URL: postgres:\/\/market_signal:\$\{POSTGRES_PASSWORD:\?.+\}@database:5432\/market_signal\n/,
    );
  });

  it("configure the proxy for streaming and for bodies as large as the service accepts", () => {
    const nginx = textOf("nginx.conf");
    expect(nginx).toContain("client_max_body_size 128k;");
    for (const streams of ["/mcp", "= /api/alerts/stream"]) {
      expect(nginx).toMatch(new RegExp(`location ${streams} \\{[^}]*proxy_buffering off;`));
    }
    expect(nginx).toContain("proxy_set_header X-Forwarded-For $remote_addr;");
  });
});
