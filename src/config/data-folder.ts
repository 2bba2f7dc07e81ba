import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Location and platform of a running program. */
interface Place {
  /** Folder of the program's own file. */
  readonly program: string;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The default of `DATA_DIR`. An installed package is run from any folder, so its data is in the
 * user's data folder of the platform (XDG Base Directory Specification); the data of a source
 * checkout is in `./data`.
 */
export function defaultDataFolder({ program, platform, env }: Place): string {
  if (!/[\\/]node_modules[\\/]/.test(program)) return "./data";
  if (platform === "darwin") return join(homedir(), "Library/Application Support/market-signal");
  if (platform === "win32") {
    return join(env.LOCALAPPDATA ?? join(homedir(), "AppData/Local"), "market-signal");
  }
  const shared = env.XDG_DATA_HOME ?? "";
  return join(isAbsolute(shared) ? shared : join(homedir(), ".local/share"), "market-signal");
}
