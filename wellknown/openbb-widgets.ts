import { marketNotes, type Site } from "../src/answers/site.ts";
import { MARKET_WORDS } from "../src/openbb/shapes.ts";
import { WIDGET_PATH_PREFIX, type Widget, type WidgetTable } from "../src/openbb/widget.ts";
import { widgets } from "../src/openbb/widgets.ts";
import type { ColumnDisplay, ColumnHead, ColumnType } from "../src/tables/table.ts";
import { SERVER_NAME } from "./server-card.ts";

/** Interval at which Workspace reloads a widget that is shown, in milliseconds. */
const REFETCH_MS = 5 * 60_000;

/** The id of a widget in `widgets.json` and `apps.json`. */
export const widgetId = ({ name }: Pick<Widget, "name">): string =>
  `market_signal_${name.replaceAll("-", "_")}`;

/**
 * The document widgets.json of OpenBB Workspace (docs.openbb.co, widgets.json reference): the
 * content, endpoint and column display of each widget.
 */
export const openbbWidgets = (site: Site) =>
  Object.fromEntries(widgets.map((widget) => [widgetId(widget), widgetOf(widget, site)]));

function widgetOf(widget: Widget, { name, market }: Site) {
  const { title, about, subCategory, type, params, size, table, tool } = widget;
  return {
    name: market === "sandbox" ? `${title} (simulated)` : title,
    description: `${about} ${marketNotes[market]} Not investment advice.`,
    category: "Market signals",
    subCategory,
    type,
    endpoint: `${WIDGET_PATH_PREFIX}/${widget.name}`,
    gridData: size,
    source: [`${name}, ${MARKET_WORDS[market]} market`],
    params: params.map((param) => ({ ...param, show: true })),
    ...(table && { data: { table: tableOf(table) } }),
    mcp_tool: { mcp_server: SERVER_NAME, tool_id: tool.name },
    refetchInterval: REFETCH_MS,
    staleTime: REFETCH_MS,
  };
}

function tableOf({ columns, sets, chart }: WidgetTable) {
  const isSeries = (name: string) => chart?.columns.slice(1).includes(name) === true;
  return {
    enableCharts: true,
    showAll: true,
    ...(chart && {
      chartView: {
        enabled: true,
        chartType: chart.kind,
        cellRangeCols: { [chart.kind]: chart.columns },
      },
    }),
    columnsDefs: columns.map((column, index) => ({
      ...columnOf(column, { isPinned: index === 0, setsParam: column.name === sets }),
      chartDataType: isSeries(column.name) ? "series" : dataTypeOf(column, chart),
    })),
  };
}

/**
 * The chart role of a column that is not one of the chart's series. If the widget has a chart, the
 * chart's first column is the category, and the others are excluded. Otherwise, columns of numbers
 * are series, and the others are categories.
 */
const dataTypeOf = (
  { name, type }: ColumnHead,
  chart: WidgetTable["chart"],
): "category" | "series" | "excluded" => {
  if (chart !== undefined) return chart.columns[0] === name ? "category" : "excluded";
  return type === "number" || type === "integer" ? "series" : "category";
};

/**
 * Cell types of Workspace by column type. Instants are text, since Workspace sorts only dates
 * without a time as dates.
 */
const CELL_TYPES: Readonly<Record<ColumnType, "text" | "number" | "boolean" | "dateString">> = {
  text: "text",
  instant: "text",
  date: "dateString",
  integer: "number",
  number: "number",
  boolean: "boolean",
};

/** Workspace's `formatterFn` by column format. */
const FORMATTERS = { percent: "normalizedPercent", int: "int" } as const;

function columnOf(
  { name, type, about, display = { header: name } }: ColumnHead,
  { isPinned, setsParam }: { readonly isPinned: boolean; readonly setsParam: boolean },
) {
  const { header, format, decimals, isHidden } = display;
  const cellDataType = CELL_TYPES[type];
  return {
    field: name,
    headerName: header,
    cellDataType,
    ...(cellDataType === "number" && { formatterFn: format ? FORMATTERS[format] : "none" }),
    ...(decimals !== undefined && { decimalPlaces: decimals }),
    ...(about !== undefined && { headerTooltip: about }),
    ...(isPinned && { pinned: "left" }),
    ...(isHidden && { hide: true }),
    ...(setsParam ? settingParam(name) : coloring(display)),
  };
}

/** A click on a cell sets the parameter that has the name of its column. */
const settingParam = (name: string) => ({
  renderFn: "cellOnClick",
  renderFnParams: { actionType: "groupBy", groupBy: { paramName: name, valueField: name } },
});

function coloring({ isSigned, colors }: ColumnDisplay) {
  if (isSigned) return { renderFn: "greenRed" };
  if (colors === undefined) return {};
  const colorRules = Object.entries(colors).map(([value, color]) => ({
    condition: "eq",
    value,
    color,
    fill: false,
  }));
  return { renderFn: "columnColor", renderFnParams: { colorRules } };
}
