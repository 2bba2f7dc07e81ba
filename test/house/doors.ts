import parts from "./parts.json" with { type: "json" };
import type { Source } from "./sources.ts";

/** A part of the program: folders that belong together, and its door. */
interface Part {
  readonly name: string;
  /** What it is, in a few words. */
  readonly is: string;
  /** Folders and files, from the root of the checkout. */
  readonly paths: readonly string[];
  /** The files that other parts may import. */
  readonly door: readonly string[];
}

/** The parts from the bottom up: each imports only from the doors of those before it. */
export const PARTS: readonly Part[] = parts;

/** An import that crosses from one part to another. */
export interface Crossing {
  readonly from: string;
  readonly to: string;
  readonly names: readonly string[];
  /** Whether it points to a part that stands higher. */
  readonly isUp: boolean;
  /** Whether it passes beside the door of the part. */
  readonly isBeside: boolean;
}

/** The part of a file; `undefined` for a file of no part. */
export const partOf = (path: string): Part | undefined =>
  PARTS.find(({ paths }) => paths.some((one) => path === one || path.startsWith(`${one}/`)));

/** All imports of code that cross from one part to another. */
export const crossings = (sources: readonly Source[]): readonly Crossing[] =>
  sources.flatMap(({ path, imports }) => {
    const own = partOf(path);
    return imports.flatMap((one) => {
      const part = partOf(one.path);
      if (part === undefined || part === own || !/\.(ts|js)$/.test(one.path)) return [];
      return {
        from: path,
        to: one.path,
        names: one.names,
        isUp: own === undefined || PARTS.indexOf(part) > PARTS.indexOf(own),
        isBeside: !part.door.includes(one.path),
      };
    });
  });

/** What is wrong with the table of the parts and the imports between them, a line each. */
export const faultsOf = (
  sources: readonly Source[],
  crossed: readonly Crossing[],
): readonly string[] => [
  ...sources
    .filter(({ path }) => partOf(path) === undefined)
    .map(({ path }) => `${path} belongs to no part of test/house/parts.json.`),
  ...PARTS.flatMap(({ name, door }) =>
    door
      .filter((file) => !crossed.some(({ to }) => to === file))
      .map((file) => `${file} is in the door of ${name}, but no other part imports it.`),
  ),
  ...crossed
    .filter(({ isBeside }) => isBeside)
    .map(
      ({ from, to }) =>
        `${from} imports ${to}, which is not in the door of ${partOf(to)?.name}: import from the door, or add the file to it.`,
    ),
];

/** Imports that point up, a line each. */
export const upwardImports = (crossed: readonly Crossing[]): readonly string[] =>
  crossed
    .filter(({ isUp }) => isUp)
    .map(
      ({ from, to }) =>
        `${from} imports ${to}, which stands higher (${partOf(from)?.name}, ${partOf(to)?.name}).`,
    );
