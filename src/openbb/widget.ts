import type { ColumnHead } from "../tables/table.ts";
import type { Tool } from "../tool/tool.ts";

/** URL path prefix of the endpoints that widgets read. */
export const WIDGET_PATH_PREFIX = "/api/openbb";

/**
 * Value of a list parameter that means no filter. A value is needed, because Workspace always sends
 * one.
 */
export const NO_FILTER = "any";

/**
 * A parameter that people set above a widget; the parameter has the same name as an input of the
 * widget's tool.
 */
export interface WidgetParam {
  readonly paramName: string;
  readonly type: "text" | "number" | "endpoint";
  readonly label: string;
  readonly description: string;
  /** Default value; Workspace sends it even if nobody has changed it. */
  readonly value: string | number;
  /** The values to choose from, for a parameter of type `text`. */
  readonly options?: readonly { readonly label: string; readonly value: string }[];
  /** The endpoint that returns the values to choose from, for a parameter of type `endpoint`. */
  readonly optionsEndpoint?: string;
}

/** Rows as Workspace displays them. */
export interface WidgetTable {
  /** The shown columns; the first one stays in view. */
  readonly columns: readonly ColumnHead[];
  /** Name of a column and parameter: a click on a cell sets it in all widgets of the group. */
  readonly sets?: string;
  /**
   * The chart that initially shows the rows: its kind, the column of the axis, and the columns of
   * the series.
   */
  readonly chart?: {
    readonly kind: "line" | "bar" | "column";
    readonly columns: readonly [axis: string, ...series: string[]];
  };
}

/** The data that Workspace displays: rows, labeled figures, options of a list, or Markdown. */
export type WidgetData = readonly object[] | string;

/** The data source of a widget endpoint: a view of one tool. */
export interface WidgetSource {
  /** Last segment of the endpoint's path. */
  readonly name: string;
  /** The tool that provides the data; its scopes apply to the endpoint. */
  readonly tool: Tool;
  /** Input of the tool that is the same for every request. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly params: readonly WidgetParam[];
  /**
   * What the widget shows: the rows of the tool's table (`rows`), or the tool's result (`answer`).
   */
  readonly reads: "rows" | "answer";
  /** Converts the rows or the result for display. Default: unchanged. */
  readonly shape?: (read: object) => WidgetData;
}

/** A widget of OpenBB Workspace. */
export interface Widget extends WidgetSource {
  readonly title: string;
  readonly about: string;
  readonly subCategory: string;
  readonly type: "table" | "metric" | "markdown";
  /** Width and height in grid units; the grid is 40 units wide. */
  readonly size: { readonly w: number; readonly h: number };
  /** Columns and chart; present for type `table`. */
  readonly table?: WidgetTable;
}

/** Adapts a typed conversion function to untyped data. */
export const toUntypedShape =
  <T extends object>(shape: (read: T) => WidgetData) =>
  (read: object): WidgetData =>
    shape(read as T);
