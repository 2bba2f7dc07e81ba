import { type EChartsCoreOption, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { type Html, html } from "./html.ts";

use(SVGRenderer);

/** Colors of axes; the style sheets assign them for light and dark mode. */
export const QUIET = "var(--quiet)";
const LINE = "var(--line)";

/**
 * Draws a chart as static SVG, which takes its size and its fonts from the style sheet.
 *
 * @param size Width and height in CSS pixels.
 */
export function draw(
  option: EChartsCoreOption,
  [width, height]: readonly [width: number, height: number],
): Html {
  const instance = init(null, null, { renderer: "svg", ssr: true, width, height });
  instance.setOption({
    animation: false,
    textStyle: { color: QUIET },
    grid: { left: 4, right: 12, top: 8, bottom: 4, outerBoundsMode: "same" },
    ...option,
  });
  const svg = plain(instance.renderToSVGString());
  instance.dispose();
  // The library escapes all text.
  return html(Object.assign([svg], { raw: [svg] }));
}

/** Removes the size, attributes for scripts, and inline styles, which the policy of pages forbids. */
const plain = (svg: string): string =>
  svg
    .replace(/^<svg width="\d+" height="\d+"/, "<svg")
    .replaceAll(/ (?:ecmeta_[a-z_]+|class|style|xml:space)="[^"]*"/g, "")
    .replaceAll(/<style ?>[\s\S]*?<\/style>/g, "");

/** A value axis with light grid lines. @param format Default: the number. */
export const valueAxis = (format?: (value: number) => string) => ({
  type: "value" as const,
  axisLabel: { color: QUIET, ...(format && { formatter: format }) },
  splitLine: { lineStyle: { color: LINE } },
  axisLine: { show: false },
  axisTick: { show: false },
});

/** An axis of names or dates. */
export const nameAxis = (names: readonly string[]) => ({
  type: "category" as const,
  data: [...names],
  axisLabel: { color: QUIET, hideOverlap: true },
  axisLine: { onZero: false, lineStyle: { color: LINE } },
  axisTick: { show: false },
});
