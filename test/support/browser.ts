import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import chromium, { inflate } from "@sparticuz/chromium";
import { type Browser, chromium as playwright } from "playwright-core";
import { atFileEnd } from "./file-end.ts";

/** Where the browser and what it needs were unpacked to. */
interface Unpacked {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Starts a Chromium that `npm ci` brings along, with its own libraries and fonts, so that nothing but
 * the kernel of the machine counts. It ends with the tests of the file.
 *
 * @throws {Error} When it cannot be started here; a test without it would prove nothing.
 */
export async function startBrowser(): Promise<Browser> {
  try {
    const { executablePath, env } = await unpack();
    // Not the arguments of the package: they switch off what keeps sites apart.
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

/** Unpacks once for all tests of the machine. The package looks only at whether a file is there: it
 *  gets a folder of its own, which takes its place as a whole. */
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

/** The package asks for the temporary directory at each call, and before it waits for anything. */
async function unpackTo(folder: string): Promise<void> {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  const parts = [chromium.executablePath(), inflate(join(PACKAGE, "bin", "al2023.tar.br"))];
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  await Promise.all(parts);
}

/** The fonts of the package and no others, so that every machine shows the same. */
const fontSettings = (home: string): string => `<?xml version="1.0"?>
<fontconfig>
  <dir>${home}/fonts</dir>
  <cachedir>${home}/fonts-cache</cachedir>
</fontconfig>
`;
