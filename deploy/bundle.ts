import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Plugin, type RolldownOutput, rolldown } from "rolldown";

/** Folder of the project. */
export const ROOT = join(import.meta.dirname, "..");

/** Absolute paths of modules, by the names of the files that start with them. */
type Entries = Readonly<Record<string, string>>;

/** A file of another package that is served as it is. */
const RESOLVED_FILE = /import\.meta\.resolve\((\s*)"([^"]+)",?(\s*)\)/g;

/** Gives the modules of the project their own place as `import.meta.url`, below the folder of the
 *  chunks, and puts the files of other packages that they read there too. */
const filesBesideModules = (entries: Entries): Plugin => ({
  name: "files-beside-modules",
  transform: {
    filter: { code: "import.meta." },
    handler(code, id) {
      const isOurs = id.startsWith(join(ROOT, "src"));
      if (!isOurs || Object.values(entries).includes(id)) return;
      const placed = code
        .replaceAll("import.meta.url", `${urlOf(relative(ROOT, id))}.href`)
        .replaceAll(RESOLVED_FILE, (_, before: string, file: string, after: string) => {
          const source = readFileSync(fileURLToPath(import.meta.resolve(file)));
          this.emitFile({ type: "asset", fileName: file, source });
          return `${before}${urlOf(file)}.href${after}`;
        });
      // Lines stay where they are, so the map of the source holds.
      return { code: placed, map: null };
    },
  },
});

const urlOf = (path: string) => `new URL("./${path}", import.meta.url)`;

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
