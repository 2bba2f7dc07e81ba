import { dirname, join, relative, resolve } from "node:path";
import { type Plugin, type RolldownOutput, rolldown } from "rolldown";

/** Folder of the project. */
export const ROOT = join(import.meta.dirname, "..");

/** Absolute paths of modules, by the names of the files that start with them. */
type Entries = Readonly<Record<string, string>>;

/** Gives the modules of the project their own place as `import.meta.url`, below the folder of the
 *  chunks, where the release puts the files that they read. */
const filesBesideModules = (entries: Entries): Plugin => ({
  name: "files-beside-modules",
  transform: {
    filter: { code: "import.meta." },
    handler(code, id) {
      const isOurs = id.startsWith(join(ROOT, "src"));
      if (!isOurs || Object.values(entries).includes(id)) return;
      const url = `new URL("./${relative(ROOT, id)}", import.meta.url).href`;
      const placed = code.replaceAll("import.meta.url", url);
      // Lines stay where they are, so the map of the source holds.
      return { code: placed, map: null };
    },
  },
});

/** Everything beyond ASCII. */
const BEYOND_ASCII = /[^\0-\x7f]/g;

/** Escapes the text of the project, also in tagged templates, which `charset` leaves alone since a tag
 *  may read them raw; ours read them cooked or as a pattern. */
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

/** Bundles programs with all that they import, and with source maps. Names stay, so that stack traces
 *  can be read, and a lazy import stays one. */
export async function bundle(entries: Entries, dir: string): Promise<RolldownOutput> {
  const build = await rolldown({
    input: entries,
    cwd: ROOT,
    platform: "node",
    // Drivers that `pg` tries and does without.
    external: ["pg-native", "cloudflare:sockets"],
    resolve: { symlinks: false },
    // `depd` gives the functions it wraps their number of parameters by it.
    checks: { eval: false },
    plugins: [filesBesideModules(entries), asciiText],
  });
  return build.write({
    dir,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    sourcemap: true,
    sourcemapExcludeSources: true,
    // V8 keeps the text of what it has loaded, with two bytes a character where any is not Latin-1.
    charset: "ascii",
    comments: { jsdoc: false },
    sourcemapPathTransform: (source, map) => relative(ROOT, resolve(dirname(map), source)),
  });
}
