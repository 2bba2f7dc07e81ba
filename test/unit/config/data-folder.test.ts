import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { defaultDataFolder } from "../../../src/config/data-folder.ts";

const INSTALLED = "/opt/node_modules/market-signal/dist";

it.each([
  ["linux", {}, join(homedir(), ".local/share/market-signal")],
  ["linux", { XDG_DATA_HOME: "/data" }, "/data/market-signal"],
  // XDG Base Directory Specification: "All paths set in these environment variables must be
  // absolute", and relative paths are ignored.
  ["linux", { XDG_DATA_HOME: "data" }, join(homedir(), ".local/share/market-signal")],
  [
    "darwin",
    { XDG_DATA_HOME: "/data" },
    join(homedir(), "Library/Application Support/market-signal"),
  ],
  ["win32", { LOCALAPPDATA: "/users/ada/local" }, "/users/ada/local/market-signal"],
  ["win32", {}, join(homedir(), "AppData/Local/market-signal")],
] as const)(
  "an installed package stores its data in the user's data directory on %s (%o)",
  (platform, env, folder) => {
    expect(defaultDataFolder({ program: INSTALLED, platform, env })).toBe(folder);
  },
);

it("a package that npm installed on Windows is recognized by its path", () => {
  const program = "C:\\users\\ada\\node_modules\\market-signal\\dist";
  const env = { LOCALAPPDATA: "/local" };
  expect(defaultDataFolder({ program, platform: "win32", env })).toBe("/local/market-signal");
});

it("a source checkout stores its data in the current directory", () => {
  const env = { XDG_DATA_HOME: "/data" };
  const place = { program: "/home/ada/market-signal/src/cli", platform: "linux" as const, env };
  expect(defaultDataFolder(place)).toBe("./data");
});
