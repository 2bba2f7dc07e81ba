import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where a program runs. */
interface Place {
  /** Folder of the program's own file. */
  readonly program: string;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Default of `DATA_DIR`. An installed package is called from any folder, so its data are in the
 * user's folder of the platform (XDG Base Directory Specification); those of a checkout are in
 * `./data`.
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
