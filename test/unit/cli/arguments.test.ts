import { describe, expect, it } from "vitest";
import { readArguments, UsageError } from "../../../src/cli/arguments.ts";
import { adminCommands, storeCommands } from "../../../src/cli/commands.ts";
import { commandHelp, overview } from "../../../src/cli/help.ts";

const here = { folder: "/here", env: { TARGET: "postgres://u:secret@h/d" } };
const store = (...argv: string[]) => readArguments(argv, storeCommands, here);
const admin = (...argv: string[]) => readArguments(argv, adminCommands, here);

describe("a command line", () => {
  it("is a command with its file, found from where it was called", () => {
    expect(store("backup", "b.gz")).toMatchObject({
      ...{ kind: "run", name: "backup", isJson: false },
      args: { file: "/here/b.gz" },
    });
    expect(store("restore", "/there/b.gz", "--yes", "--json")).toMatchObject({
      ...{ name: "restore", isJson: true },
      args: { file: "/there/b.gz", yes: true },
    });
    expect(store("import", "--yes", "../e.json")).toMatchObject({
      args: { file: "/e.json", yes: true },
    });
  });

  it("has no agreement unless it says so", () => {
    expect(store("restore", "b.gz")).toMatchObject({ args: { yes: false } });
  });

  it("knows commands of two words and options with values", () => {
    expect(admin("keys", "rotate", "--use", "token-signing")).toMatchObject({
      ...{ name: "keys rotate", args: { use: "token-signing" } },
    });
    expect(admin("keys", "list")).toMatchObject({ name: "keys list", args: {} });
    expect(store("migrate", "--to", "postgres://u@h/d")).toMatchObject({
      args: { to: "postgres://u@h/d" },
    });
  });

  it("takes an address out of the environment, since a command line can be seen", () => {
    expect(store("migrate", "--to", "env:TARGET")).toMatchObject({
      args: { to: "postgres://u:secret@h/d" },
    });
    expect(() => store("migrate", "--to", "env:ABSENT")).toThrow("--to: ABSENT is not set.");
    expect(admin("keys", "rotate", "--use", "token-signing")).toMatchObject({
      args: { use: "token-signing" },
    });
  });

  it("asks for help on all or on one", () => {
    expect(store("--help")).toEqual({ kind: "help" });
    expect(store("help")).toEqual({ kind: "help" });
    expect(store("backup", "--help")).toEqual({ kind: "help", command: "backup" });
  });

  it.each([
    [[], "Name a command; the commands are: backup, restore"],
    [["bakup", "x"], "There is no command bakup; the commands are: backup, restore"],
    [["backup"], "<file>: name a file."],
    [["backup", "a", "b"], "There is nothing to do with b."],
    [["backup", "a", "--yes"], "Unknown option '--yes'"],
    [["verify", "x"], "There is nothing to do with x."],
    [["migrate"], "--to: say where to."],
    [["migrate", "--to"], "Option '--to <value>' argument missing"],
    [["migrate", "--to", "mysql://h/d"], "--to: must be a PostgreSQL address."],
    [["restore", "x", "--yes=no"], "Option '--yes' does not take an argument"],
  ])("%j is not understood, and says why", (argv, said) => {
    expect(() => store(...argv)).toThrow(UsageError);
    expect(() => store(...argv)).toThrow(said);
  });

  it("names the uses of keys when one is unknown", () => {
    expect(() => admin("keys", "rotate", "--use", "x")).toThrow(
      "--use: must be one of token-signing",
    );
    expect(() => admin("keys")).toThrow("the commands are: status, doctor, keys list, keys rotate");
  });
});

describe("the help", () => {
  it("names every command, and every option of each", () => {
    for (const [program, commands] of [
      ["store", storeCommands],
      ["admin", adminCommands],
    ] as const) {
      for (const [name, command] of commands) {
        expect(overview(program, commands)).toContain(`  ${name}`);
        const help = commandHelp(program, [name, command]);
        expect(help).toContain(command.summary);
        for (const option of Object.keys(command.options)) expect(help).toContain(`--${option}`);
        expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
      }
    }
  });

  it("says what an export leaves out, and that no copy has the master key", () => {
    const helpOf = (name: string) =>
      commandHelp("store", [...storeCommands].find(([each]) => each === name) ?? expect.fail());
    expect(helpOf("export")).toMatch(/archive.*is not in it.*outbox, audit-chain, leases, probes/s);
    for (const name of ["backup", "export"])
      expect(helpOf(name)).toContain("master.key is not in it");
  });
});
