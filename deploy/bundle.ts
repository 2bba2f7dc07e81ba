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
    plugins: [filesBesideModules(entries)],
  });
  return build.write({
    dir,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    sourcemap: true,
    sourcemapExcludeSources: true,
    sourcemapPathTransform: (source, map) => relative(ROOT, resolve(dirname(map), source)),
  });
}
