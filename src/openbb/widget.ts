import type { ColumnHead } from "../tables/table.ts";
import type { Tool } from "../tool.ts";

/** URL path prefix of the endpoints that widgets read. */
export const WIDGET_PATH_PREFIX = "/api/openbb";

/** Value of a list parameter that means no filter; Workspace always sends a value. */
export const NO_FILTER = "any";

/** A parameter that people set above a widget; its name is that of an input of the widget's tool. */
export interface WidgetParam {
  readonly paramName: string;
  readonly type: "text" | "number" | "endpoint";
  readonly label: string;
  readonly description: string;
  /** Default value, which Workspace sends as well. */
  readonly value: string | number;
  /** The values to choose from, for type `text`. */
  readonly options?: readonly { readonly label: string; readonly value: string }[];
  /** Endpoint that returns the values to choose from, for type `endpoint`. */
  readonly optionsEndpoint?: string;
}

/** How a column of a table is shown. */
export interface WidgetColumn {
  /** Name of a column of the rows. */
  readonly name: string;
  readonly header: string;
  /** `percent` shows a fraction in per cent; `int` has no decimals. Default: the value as it is. */
  readonly format?: "percent" | "int";
  readonly decimals?: number;
  /** Green above 0, red below. */
  readonly isSigned?: true;
  /** Colors by the text of the cell. */
  readonly colors?: Readonly<Record<string, string>>;
  /** Name of the parameter that a click on a cell sets in the widgets of the same group. */
  readonly sets?: string;
  readonly isPinned?: true;
  /** Hidden at first; people can show it. */
  readonly isHidden?: true;
}

/** Rows as Workspace draws them. */
export interface WidgetTable {
  /** Names, types and units of the rows' columns. */
  readonly heads: readonly ColumnHead[];
  readonly columns: readonly WidgetColumn[];
  /** The chart in which the rows are shown at first: its kind, the column of its axis, those of its
   *  series. */
  readonly chart?: {
    readonly kind: "line" | "bar" | "column";
    readonly columns: readonly [axis: string, ...series: string[]];
  };
}

/** What Workspace draws: rows, figures with a label, options of a list, or Markdown. */
export type WidgetData = readonly object[] | string;

/** What an endpoint answers: a view of one tool. */
export interface WidgetSource {
  /** Last segment of its path. */
  readonly name: string;
  /** The tool that answers, with the tool's scopes. */
  readonly tool: Tool;
  /** Fixed input of the tool. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly params: readonly WidgetParam[];
  /** Whether the widget shows the rows of the tool's table or the tool's answer. */
  readonly reads: "rows" | "answer";
  /** Converts the rows or the answer for display. Default: the rows unchanged. */
  readonly shape?: (read: object) => WidgetData;
}

/** A widget of OpenBB Workspace. */
export interface Widget extends WidgetSource {
  readonly title: string;
  readonly about: string;
  readonly subCategory: string;
  readonly type: "table" | "metric" | "markdown";
  /** Size in units of a grid that is 40 wide. */
  readonly size: { readonly w: number; readonly h: number };
  /** Present with type table. */
  readonly table?: WidgetTable;
}

/** Adapts a typed conversion function to the untyped data of a source. */
export const untypedShape =
  <T extends object>(shape: (read: T) => WidgetData) =>
  (read: object): WidgetData =>
    shape(read as T);
