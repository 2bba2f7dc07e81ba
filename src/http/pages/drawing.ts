import { type EChartsCoreOption, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { type Html, html } from "../../markup/html.ts";

use(SVGRenderer);

/** Colors of axes; the style sheets assign them for light and dark mode. */
export const QUIET_COLOR = "var(--quiet)";
const LINE = "var(--line)";

/**
 * Draws a chart as a static SVG. The style sheet sets its size and fonts.
 *
 * @param size Width and height in CSS pixels.
 */
export function drawChart(
  option: EChartsCoreOption,
  [width, height]: readonly [width: number, height: number],
): Html {
  const instance = init(null, null, { renderer: "svg", ssr: true, width, height });
  instance.setOption({
    animation: false,
    textStyle: { color: QUIET_COLOR },
    grid: { left: 4, right: 12, top: 8, bottom: 4, outerBoundsMode: "same" },
    ...option,
  });
  const svg = plain(instance.renderToSVGString());
  instance.dispose();
  // The chart library escapes all text, so its SVG is safe as HTML.
  return html(Object.assign([svg], { raw: [svg] }));
}

/**
 * Removes the size, attributes for scripts, and inline styles; the content security policy of the
 * pages forbids inline styles.
 */
const plain = (svg: string): string =>
  svg
    .replace(/^<svg width="\d+" height="\d+"/, "<svg")
    .replaceAll(/ (?:ecmeta_[a-z_]+|class|style|xml:space)="[^"]*"/g, "")
    .replaceAll(/<style ?>[\s\S]*?<\/style>/g, "");

/**
 * A value axis with light grid lines.
 *
 * @param format Formats an axis label; default: the plain number.
 */
export const valueAxis = (format?: (value: number) => string) => ({
  type: "value" as const,
  axisLabel: { color: QUIET_COLOR, ...(format && { formatter: format }) },
  splitLine: { lineStyle: { color: LINE } },
  axisLine: { show: false },
  axisTick: { show: false },
});

/** A category axis with names or dates. */
export const nameAxis = (names: readonly string[]) => ({
  type: "category" as const,
  data: [...names],
  axisLabel: { color: QUIET_COLOR, hideOverlap: true },
  axisLine: { onZero: false, lineStyle: { color: LINE } },
  axisTick: { show: false },
});
