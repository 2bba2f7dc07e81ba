import { dirname, join, relative, resolve } from "node:path";
import { type Plugin, type RolldownOutput, rolldown } from "rolldown";
import { hashProgram } from "../src/telemetry/program-hash.ts";

/** Absolute path of the project's root folder. */
export const ROOT = join(import.meta.dirname, "..");

/** Absolute path of each entry module, by the name of the output file built from the module. */
type Entries = Readonly<Record<string, string>>;

/**
 * Replaces `import.meta.url` in the project's modules with a URL below the output folder, where the
 * release puts the files that these modules read.
 */
const filesBesideModules = (entries: Entries): Plugin => ({
  name: "files-beside-modules",
  transform: {
    filter: { code: "import.meta." },
    handler(code, id) {
      const isOurs = id.startsWith(join(ROOT, "src"));
      if (!isOurs || Object.values(entries).includes(id)) return;
      const url = `new URL("./${relative(ROOT, id)}", import.meta.url).href`;
      const placed = code.replaceAll("import.meta.url", url);
      // Line breaks are unchanged, so the source map stays correct without a new mapping.
      return { code: placed, map: null };
    },
  },
});

/** Characters outside ASCII. */
const BEYOND_ASCII = /[^\0-\x7f]/g;

/**
 * Escapes every non-ASCII character in the project's source. The `charset` option leaves tagged
 * templates alone, since a tag may read the raw text. The project's tags read only the cooked text,
 * or pass the raw text to a regular expression, which understands the escapes.
 */
const asciiText: Plugin = {
  name: "ascii-text",
  transform: {
    filter: { code: BEYOND_ASCII, id: { exclude: /[\\/]node_modules[\\/]/ } },
    handler(code) {
      const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
      return { code: code.replaceAll(BEYOND_ASCII, escaped), map: null };
    },
  },
};

/**
 * Bundles the entry modules with all their imports, and writes source maps. Names are not minified,
 * so that stack traces stay readable. Dynamically imported modules stay in separate chunks.
 */
export async function bundle(entries: Entries, dir: string): Promise<RolldownOutput> {
  const build = await rolldown({
    input: entries,
    cwd: ROOT,
    platform: "node",
    // Optional drivers: `pg` tries to import them, and works without them.
    external: ["pg-native", "cloudflare:sockets"],
    resolve: { symlinks: false },
    // The check is off because `depd` calls `eval` to give its wrapper functions the arity of the
    // wrapped functions.
    checks: { eval: false },
    transform: { define: { PACKAGED_PROGRAM_HASH: JSON.stringify(hashProgram(ROOT)) } },
    plugins: [filesBesideModules(entries), asciiText],
  });
  return build.write({
    dir,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    sourcemap: true,
    sourcemapExcludeSources: true,
    // V8 keeps loaded source text in memory, with two bytes per character if any character is
    // outside Latin-1.
    charset: "ascii",
    comments: { jsdoc: false },
    sourcemapPathTransform: (source, map) => relative(ROOT, resolve(dirname(map), source)),
  });
}
