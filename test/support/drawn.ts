/** A panel of a figure as the page has it. */
export interface DrawnPanel {
  readonly html: string;
  /** Height in CSS pixels. */
  readonly height: number;
}

/** The points of the line of a class: from 0 to 1 000 across the panel and down. */
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

/** The labels of the axis that stand at their values, from the top: those with a class may be moved out of
 *  each other's way. */
export const plainLabels = (
  html: string,
): readonly { readonly y: number; readonly text: string }[] =>
  Array.from(
    html.matchAll(/<text x="10%" y="([\d.]+)%" dy=".35em">([^<]*)<\/text>/g),
    ([, y, text = ""]) => ({ y: Number(y), text }),
  ).toSorted((a, b) => a.y - b.y);

/**
 * Where values should be drawn by the labels of the axis, in CSS pixels from the top of the panel.
 *
 * @param values In the unit of the labels.
 * @param transform The scale of the axis: the logarithm, or the value itself.
 */
export function heightsByAxis(
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

/** The number of a label, such as `1,234.5` or `−0.5 %`. */
const numberIn = (text: string): number =>
  Number(text.replaceAll(",", "").replace("−", "-").replace(/\s*%$/u, ""));
