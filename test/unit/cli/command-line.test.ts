import { describe, expect, it } from "vitest";
import { commands } from "../../../src/cli/all-commands.ts";
import { helpText, readCommandLine, UsageError } from "../../../src/cli/command-line.ts";

const here = { folder: "/here", env: { TARGET: "postgres://u:secret@h/d" } };
const store = (...argv: string[]) => readCommandLine(["store", ...argv], commands, here);
const admin = (...argv: string[]) => readCommandLine(["admin", ...argv], commands, here);

describe("a command line", () => {
  it("consists of a command and a file, which is relative to the working directory", () => {
    expect(store("backup", "b.gz")).toMatchObject({
      ...{ kind: "run", name: "store backup", isJson: false },
      args: { file: "/here/b.gz" },
    });
    expect(store("restore", "/there/b.gz", "--yes", "--json")).toMatchObject({
      ...{ name: "store restore", isJson: true },
      args: { file: "/there/b.gz", yes: true },
    });
    expect(store("restore", "--yes", "../e.json")).toMatchObject({
      args: { file: "/e.json", yes: true },
    });
    expect(store("verify", "--state", "seen.json")).toMatchObject({
      args: { state: "/here/seen.json" },
    });
  });

  it("does not confirm anything by default", () => {
    expect(store("restore", "b.gz")).toMatchObject({ args: { yes: false } });
  });

  it("supports commands of two words and options with values", () => {
    expect(admin("keys", "rotate", "--use", "token-signing")).toMatchObject({
      ...{ name: "admin keys rotate", args: { use: "token-signing" } },
    });
    expect(admin("keys", "list")).toMatchObject({ name: "admin keys list", args: {} });
    expect(store("migrate", "--to", "postgres://u@h/d")).toMatchObject({
      args: { to: "postgres://u@h/d" },
    });
  });

  it("can take a database URL from the environment, because other users can see the arguments", () => {
    expect(store("migrate", "--to", "env:TARGET")).toMatchObject({
      args: { to: "postgres://u:secret@h/d" },
    });
    expect(() => store("migrate", "--to", "env:ABSENT")).toThrow("--to: ABSENT is not set.");
    expect(admin("keys", "rotate", "--use", "token-signing")).toMatchObject({
      args: { use: "token-signing" },
    });
  });

  it("can request help for all commands, a group or a single command", () => {
    for (const word of ["--help", "help"]) {
      expect(readCommandLine([word], commands, here)).toEqual({ kind: "help" });
    }
    expect(store("--help")).toEqual({ kind: "help", about: "store" });
    expect(store("backup", "--help")).toEqual({ kind: "help", about: "store backup" });
  });

  it("starts the service when no command is given, and can request the version", () => {
    expect(readCommandLine([], commands, here)).toMatchObject({ kind: "run", name: "serve" });
    expect(readCommandLine(["--version"], commands, here)).toEqual({ kind: "version" });
  });

  it.each([
    [[], "Name a command; the commands are: store backup, store restore"],
    [["bakup", "x"], "There is no command store bakup; the commands are: store backup"],
    [["backup"], "<file>: name a file."],
    [["backup", "a", "b"], "There is nothing to do with b."],
    [["backup", "a", "--yes"], "Unknown option '--yes'"],
    [["verify", "x"], "There is nothing to do with x."],
    [["migrate"], "--to: say where to."],
    [["migrate", "--to"], "Option '--to <value>' argument missing"],
    [["migrate", "--to", "mysql://h/d"], "--to: must be a PostgreSQL address."],
    [["restore", "x", "--yes=no"], "Option '--yes' does not take an argument"],
  ])("%j is rejected with the reason", (argv, said) => {
    expect(() => store(...argv)).toThrow(UsageError);
    expect(() => store(...argv)).toThrow(said);
  });

  it.each([
    [["--port", "70000"], "--port: is not a whole number from 0 to 65535."],
    [["--secret", "hunter2"], "--secret: is not whsec_ and 24 to 64 bytes in base64."],
    [["--fail", "200"], "--fail: is not a whole number from 300 to 599."],
    [["--keys", "signals.example"], "--keys: is not an address such as https://signals.example."],
    [["--loud"], "Unknown option '--loud'"],
    [["now"], "There is nothing to do with now."],
  ])("listen %j is rejected with the reason", (argv, said) => {
    expect(() => readCommandLine(["listen", ...argv], commands, here)).toThrow(said);
  });

  it("is rejected with the list of key uses when a key use is unknown", () => {
    expect(() => admin("keys", "rotate", "--use", "x")).toThrow(
      "--use: must be one of token-signing",
    );
    expect(() => admin("keys")).toThrow("the commands are: admin status, admin keys list");
    expect(() => readCommandLine(["stor"], commands, here)).toThrow(
      "There is no command stor; the commands are: serve, doctor, admin status",
    );
  });
});

describe("a command of version 1.0.0 that is gone", () => {
  it.each([
    ["export", "store export is gone: `store backup <file>` writes"],
    ["import", "store import is gone: `store restore <file>` reads"],
  ])("is rejected with what does the work of store %s", (name, said) => {
    expect(() => readCommandLine(["store", name, "x.json", "--yes"], commands, here)).toThrow(said);
  });
});

describe("the help text", () => {
  it("lists every command and every option of each command", () => {
    const overview = helpText(commands);
    for (const [name, command] of commands) {
      expect(overview).toContain(`  ${name}`);
      const help = helpText(commands, name);
      expect(help).toContain(command.summary);
      for (const option of Object.keys(command.options)) expect(help).toContain(`--${option}`);
      expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    }
  });

  it("lists only the commands of the requested group", () => {
    const help = helpText(commands, "store");
    expect(help).toContain("  store backup <file>");
    expect(help).not.toContain("  admin");
  });

  it("states that backups do not contain the master key", () => {
    expect(helpText(commands, "store backup")).toContain("master.key is not in it");
  });
});
