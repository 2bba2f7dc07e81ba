/** Numbers of a path of an SVG drawing: x and y in turn. */
const numbersOf = (path: string): readonly number[] =>
  Array.from(path.matchAll(/-?\d+(?:\.\d+)?/g), Number);

const heightsIn = (path: string): readonly number[] =>
  numbersOf(path).filter((_, at) => at % 2 === 1);

/** The heights of the points of a line in a color, from 0 on the lowest line of the grid to 100 on the
 *  highest. @param svg A drawing of a score history. @param color As the drawing names it. */
export function heightsOf(svg: string, color: string): readonly number[] {
  const paths = Array.from(svg.matchAll(/<path d="([^"]*)"([^>]*)>/g), ([, d = "", rest = ""]) => ({
    heights: heightsIn(d),
    isIn: (name: string) => rest.includes(`stroke="${name}"`),
  }));
  const levels = paths.filter(({ isIn }) => isIn("var(--line)")).flatMap(({ heights }) => heights);
  const [top, bottom] = [Math.min(...levels), Math.max(...levels)];
  const lines = paths.filter(({ isIn }) => isIn(color)).flatMap(({ heights }) => heights);
  return lines.map((y) => (100 * (bottom - y)) / (bottom - top));
}

/** From where to where the shapes with an attribute reach, in the drawing's own units from its left. */
export function spanOf(svg: string, attribute: string) {
  const shapes = svg.matchAll(/<(?:path d|polygon points)="([^"]*)"([^>]*)>/g);
  const chosen = Array.from(shapes).filter(([, , rest = ""]) => rest.includes(attribute));
  const places = chosen.flatMap(([, d = ""]) => numbersOf(d).filter((_, at) => at % 2 === 0));
  return { from: Math.min(...places), to: Math.max(...places) };
}
