/** The HTML of one panel of a figure. */
export interface DrawnPanel {
  readonly html: string;
  /** Height in CSS pixels. */
  readonly height: number;
}

/**
 * The points of a line, which is found by its CSS class. Both coordinates go from 0 to 1000; y
 * points down.
 */
export function pointsOf(
  { html }: Pick<DrawnPanel, "html">,
  name: string,
): readonly { readonly x: number; readonly y: number }[] {
  const [, path = ""] = new RegExp(`<path class="${name}" d="([^"]*)"`).exec(html) ?? [];
  const [, total] = /viewBox="-\.5 0 (\d+) 1000"/.exec(html) ?? [];
  let [place, y] = [0, 0];
  return Array.from(path.matchAll(/([Ml])(-?\d+) (-?\d+)/g), ([, command, across, down]) => {
    const isStart = command === "M";
    place = Number(across) + (isStart ? 0 : place);
    y = Number(down) + (isStart ? 0 : y);
    return { x: (1_000 * (place + 0.5)) / Number(total), y };
  });
}

/**
 * Axis labels that are drawn exactly at their values, from top to bottom. Labels with a `class`
 * attribute are left out, because they may be shifted to avoid overlap.
 */
export const plainLabels = (
  html: string,
): readonly { readonly y: number; readonly text: string }[] =>
  Array.from(
    html.matchAll(/<text x="10%" y="([\d.]+)%" dy="[-.\d]+em">([^<]*)<\/text>/g),
    ([, y, text = ""]) => ({ y: Number(y), text }),
  ).toSorted((a, b) => a.y - b.y);

/**
 * Expected vertical positions of values according to the axis labels, in CSS pixels from the top of
 * the panel.
 *
 * @param values Values in the unit of the labels.
 * @param transform Scale of the axis: the logarithm, or the identity.
 */
export function positionsByAxis(
  { html, height }: DrawnPanel,
  values: readonly number[],
  transform: (value: number) => number = (value) => value,
): readonly number[] {
  const labels = plainLabels(html).map(({ y, text }) => ({ y, at: transform(numberIn(text)) }));
  const [top, bottom] = [labels[0], labels.at(-1)];
  if (top === undefined || bottom === undefined || top === bottom) {
    throw new Error("an axis with fewer than two labels");
  }
  const slope = (bottom.y - top.y) / (bottom.at - top.at);
  return values.map((value) => ((top.y + slope * (transform(value) - top.at)) * height) / 100);
}

/** Parses the number of a label, such as `1,234.5` or `−0.5 %`. */
const numberIn = (text: string): number =>
  Number(text.replaceAll(",", "").replace("−", "-").replace(/\s*%$/u, ""));
