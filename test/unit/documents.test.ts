import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { commands as programCommands } from "../../src/cli/all-commands.ts";

const root = join(import.meta.dirname, "../..");
const textOf = (file: string) => readFileSync(join(root, file), "utf8");

const documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].concat(
  globSync("docs/*.md", { cwd: root }),
);
const readme = textOf("README.md");

/** The text of the first block of a document below a heading. */
const blockBelow = (text: string, heading: string): string =>
  text.split(`## ${heading}\n`)[1]?.split("```")[1] ?? "";

/** Source files of the service that load a package, other than for its types. */
const loading = (name: string): readonly string[] =>
  globSync("src/**/*.ts", { cwd: root }).filter((file) =>
    new RegExp(`^import (?!type )[^;]*from "${name}["/]`, "m").test(textOf(file)),
  );

describe("README.md", () => {
  it("lists every folder of src in its layout, and only existing folders", () => {
    const listed = blockBelow(readme, "Layout")
      .trim()
      .split("\n")
      .flatMap((line) => {
        const [first = "", ...others] = (line.split(/ {2,}/)[0] ?? "").split(", ");
        const parent = first.startsWith("src/") ? "src/" : "";
        return [first, ...others.map((name) => parent + name)];
      });
    const folders = readdirSync(join(root, "src"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `src/${name}`);
    expect(listed.filter((path) => path.startsWith("src/")).toSorted()).toEqual(folders.toSorted());
    for (const path of listed) expect(existsSync(join(root, path)), path).toBe(true);
  });

  it("stays shorter than 12,400 bytes", () => {
    expect(Buffer.byteLength(readme)).toBeLessThan(12_400);
  });
});

describe.each(documents)("%s", (file) => {
  const text = textOf(file);

  it("links only to existing files", () => {
    const links = Array.from(
      text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g),
      ([, link = ""]) => link,
    );
    for (const link of links) {
      expect(existsSync(join(root, dirname(file), link)), link).toBe(true);
    }
  });

  it("runs only existing commands, and no package of that name from a registry", () => {
    const commands = Array.from(
      text.matchAll(/npx (?:--no-install )?market-signal((?: [a-z][a-z-]*)*)/g),
      ([all, words = ""]) => ({ all, words: words.trim().split(" ") }),
    );
    for (const { all, words } of commands) {
      expect(all).toMatch(/^npx --no-install /);
      const starts = words.map((_, at) => words.slice(0, at + 1).join(" "));
      expect(words[0] === "" || starts.some((start) => programCommands.has(start)), all).toBe(true);
    }
  });
});

describe("docs/testing.md", () => {
  const examples = Array.from(
    textOf("docs/testing.md").matchAll(/^npx vitest ([^#\n]*)/gm),
    ([, line = ""]) => line.trim(),
  );

  it("has examples whose files exist and whose title matches a test", () => {
    expect(examples.length).toBeGreaterThan(3);
    for (const example of examples) {
      const [path] = /test\/\S+/.exec(example) ?? [];
      if (path !== undefined) expect(existsSync(join(root, path)), example).toBe(true);
      const [, title] = /-t "([^"]+)"/.exec(example) ?? [];
      const titles =
        title === undefined ? [] : textOf(path ?? "").match(/^ *"[^"]+",$|it\("[^"]+"/gm);
      if (title !== undefined) expect(titles?.join("\n")).toContain(title);
    }
  });
});

describe("packages that one place of the service loads", () => {
  it("are lowdb, where docs/dependencies.md says, and oidc-provider, in src/auth/oidc", () => {
    const [place] = loading("lowdb");
    expect(loading("lowdb")).toEqual([place]);
    expect(textOf("docs/dependencies.md")).toContain(`\`${place}\``);
    const elsewhere = loading("oidc-provider").filter((path) => !path.startsWith("src/auth/oidc/"));
    expect(elsewhere).toEqual([]);
  });
});
