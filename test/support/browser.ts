import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import chromium, { inflate } from "@sparticuz/chromium";
import { type Browser, chromium as playwright } from "playwright-core";
import { atFileEnd } from "./file-end.ts";

/** The unpacked browser, with the environment that it needs. */
interface Unpacked {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Starts the Chromium that `npm ci` installs, with its own libraries and fonts, so that results
 * depend only on the machine's kernel. It stops after the last test of the file.
 *
 * @throws {Error} When it cannot start on this machine; without a browser, a test would prove
 * nothing.
 */
export async function startBrowser(): Promise<Browser> {
  try {
    const { executablePath, env } = await unpack();
    // The package's own arguments are not used, because they disable site isolation.
    const args = ["--no-sandbox", "--font-render-hinting=none"];
    const browser = await playwright.launch({ executablePath, args, env });
    atFileEnd(() => browser.close());
    return browser;
  } catch (cause) {
    throw new Error(
      "The browser of the tests does not start. It is for Linux on x86-64 and needs 400 MB in the temporary directory.",
      { cause },
    );
  }
}

const require = createRequire(import.meta.url);
const PACKAGE = join(dirname(require.resolve("@sparticuz/chromium")), "..");
const { version } = require(join(PACKAGE, "package.json"));

/**
 * Unpacks the browser once per machine. The package only checks whether its files exist, so it
 * unpacks into a temporary folder, which is then renamed atomically.
 */
async function unpack(): Promise<Unpacked> {
  const home = join(process.env.MACHINE_FOLDER ?? tmpdir(), `market-signal-chromium-${version}`);
  if (!existsSync(home)) {
    const staging = await mkdtemp(`${home}-`);
    await unpackTo(staging);
    await writeFile(join(staging, "fonts.conf"), fontSettings(home));
    await rename(staging, home).catch(() => rm(staging, { recursive: true }));
  }
  return {
    executablePath: join(home, "chromium"),
    env: {
      HOME: home,
      PATH: process.env.PATH ?? "",
      LD_LIBRARY_PATH: join(home, "al2023", "lib"),
      FONTCONFIG_FILE: join(home, "fonts.conf"),
    },
  };
}

/**
 * Unpacks the browser into a folder. The package reads TMPDIR at each call before its first
 * `await`, so the variable can be restored at once.
 */
async function unpackTo(folder: string): Promise<void> {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  const parts = [chromium.executablePath(), inflate(join(PACKAGE, "bin", "al2023.tar.br"))];
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  await Promise.all(parts);
}

/** Fontconfig settings with only the package's fonts, so that every machine renders alike. */
const fontSettings = (home: string): string => `<?xml version="1.0"?>
<fontconfig>
  <dir>${home}/fonts</dir>
  <cachedir>${home}/fonts-cache</cachedir>
</fontconfig>
`;
