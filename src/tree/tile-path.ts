import { TILE_WIDTH, type Tile } from "./tiles.ts";

/** A bundle of entries; bundles are numbered like the tiles of level 0. */
export type EntryBundle = Omit<Tile, "level">;

/**
 * Number of digits of a path element (C2SP tlog-tiles): tile 1234067 has the path `x001/x234/067`.
 */
const DIGITS = 3;

/** Maximum level of a tile in a path. */
const MAX_LEVEL = 63;

const TILE_PATH =
  /^(?<level>entries|0|[1-9]\d?)\/(?<index>(?:x\d{3}\/)*\d{3})(?:\.p\/(?<width>[1-9]\d{0,2}))?$/;

/** Path of a tile below `tile/`. */
export const tilePath = ({ level, ...numbered }: Tile): string =>
  `${level}/${numberedPath(numbered)}`;

/** Path of a bundle of entries below `tile/`. */
export const entryBundlePath = (bundle: EntryBundle): string => `entries/${numberedPath(bundle)}`;

function numberedPath({ index, width }: EntryBundle): string {
  const text = String(index);
  const digits = text.padStart(Math.ceil(text.length / DIGITS) * DIGITS, "0");
  const elements = digits.match(/\d{3}/g) ?? [];
  const path = elements.map((each, at) => (at < elements.length - 1 ? `x${each}` : each)).join("/");
  return width === TILE_WIDTH ? path : `${path}.p/${width}`;
}

/**
 * Parses the path of a tile or bundle below `tile/`; `undefined` for any path that is not
 * canonical, so that each tile has only one address.
 */
export function parseTilePath(
  path: string,
): Tile | (EntryBundle & { level: "entries" }) | undefined {
  const { level, index = "", width } = TILE_PATH.exec(path)?.groups ?? {};
  if (level === undefined) return undefined;
  const found = {
    index: Number(index.replaceAll(/[x/]/g, "")),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
  const isWhole =
    Number.isSafeInteger(found.index) && (width === undefined || found.width < TILE_WIDTH);
  // An additional element `x000` would give the same tile a second address.
  if (!isWhole || !path.startsWith(`${level}/${numberedPath(found)}`)) return undefined;
  if (level === "entries") return { level, ...found };
  return Number(level) > MAX_LEVEL ? undefined : { level: Number(level), ...found };
}
