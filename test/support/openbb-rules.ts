import { z } from "zod";

/**
 * The documented rules of OpenBB Workspace for `widgets.json` and `apps.json` (docs.openbb.co,
 * references of both files; the app builder's contract of the workspace-mcp project). An
 * undocumented member counts as a fault, because a single fault makes Workspace reject the whole
 * backend.
 */

/**
 * Origins that send requests to a backend: the web app, its preview, the desktop app, and the Excel
 * add-in.
 */
export const WORKSPACE_ORIGINS = [
  "https://pro.openbb.co",
  "https://pro.openbb.dev",
  "http://localhost:1420",
  "https://excel.openbb.co",
] as const;

const CHART_TYPES =
  "column groupedColumn stackedColumn normalizedColumn bar groupedBar stackedBar normalizedBar line scatter bubble pie donut doughnut area stackedArea normalizedArea histogram radarLine radarArea nightingale radialColumn radialBar sunburst rangeBar rangeArea boxPlot treemap heatmap waterfall".split(
    " ",
  );

const TYPES =
  "chart table table_ssrm markdown metric note multi_file_viewer live_grid newsfeed advanced-chart chart-highcharts chart-vegalite youtube iframe".split(
    " ",
  );

const Width = z.int().min(1).max(40);
const Height = z.int().min(1).max(100);

const ColorRule = z.strictObject({
  condition: z.enum(["eq", "ne", "gt", "lt", "gte", "lte", "between", "contains", "notContains"]),
  value: z.union([z.number(), z.string()]).optional(),
  range: z.strictObject({ min: z.number(), max: z.number() }).optional(),
  color: z.string(),
  fill: z.boolean().optional(),
});

const RenderParams = z.strictObject({
  actionType: z.enum(["groupBy", "sendToAgent", "openUrl"]).optional(),
  groupBy: z
    .strictObject({
      paramName: z.string(),
      valueField: z.string().optional(),
      forceUpdate: z.boolean().optional(),
    })
    .optional(),
  colorRules: z.array(ColorRule).optional(),
  colorValueKey: z.string().optional(),
});

const ColumnDef = z
  .strictObject({
    field: z.string(),
    headerName: z.string(),
    chartDataType: z.enum(["category", "series", "time", "excluded"]).optional(),
    cellDataType: z.enum(["text", "number", "boolean", "date", "dateString", "object"]),
    align: z.enum(["left", "center", "right"]).optional(),
    formatterFn: z
      .enum(["int", "none", "percent", "normalized", "normalizedPercent", "dateToYear"])
      .optional(),
    decimalPlaces: z.number().optional(),
    renderFn: z
      .enum(["greenRed", "titleCase", "hoverCard", "cellOnClick", "columnColor", "showCellChange"])
      .optional(),
    renderFnParams: RenderParams.optional(),
    width: z.number().optional(),
    minWidth: z.number().optional(),
    maxWidth: z.number().optional(),
    hide: z.boolean().optional(),
    pinned: z.enum(["left", "right"]).optional(),
    headerTooltip: z.string().optional(),
    prefix: z.string().optional(),
    suffix: z.string().optional(),
  })
  .refine(
    ({ renderFn, renderFnParams }) =>
      !["cellOnClick", "columnColor"].includes(renderFn ?? "") || renderFnParams !== undefined,
    "cellOnClick and columnColor need renderFnParams",
  );

const Param = z
  .strictObject({
    paramName: z.string(),
    type: z.enum(["date", "text", "ticker", "number", "boolean", "endpoint", "form", "tabs"]),
    label: z.string().min(1),
    description: z.string().min(1),
    value: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional(),
    show: z.boolean().optional(),
    options: z
      .array(
        z.strictObject({
          label: z.string(),
          value: z.union([z.string(), z.number(), z.boolean()]),
        }),
      )
      .optional(),
    optionsEndpoint: z.string().optional(),
    optionsParams: z.record(z.string(), z.string()).optional(),
    multiSelect: z.boolean().optional(),
    multiple: z.boolean().optional(),
  })
  .refine(
    ({ type, optionsEndpoint }) => (type === "endpoint") === (optionsEndpoint !== undefined),
    "type endpoint needs an optionsEndpoint, and nothing else has one",
  )
  .refine(
    ({ options, value }) => options?.every((one) => one.value !== value) !== true,
    "the default is one of the options",
  );

const Widget = z.strictObject({
  name: z.string().min(1),
  description: z.string().min(1),
  category: z.string(),
  subCategory: z.string(),
  type: z.enum(TYPES),
  endpoint: z.string().min(1),
  gridData: z.strictObject({ w: Width.min(10), h: Height.min(4) }),
  source: z.array(z.string()),
  params: z.array(Param),
  data: z
    .strictObject({
      dataKey: z.string().optional(),
      table: z.strictObject({
        enableCharts: z.boolean().optional(),
        showAll: z.boolean().optional(),
        chartView: z
          .strictObject({
            enabled: z.boolean(),
            chartType: z.enum(CHART_TYPES),
            cellRangeCols: z.partialRecord(z.enum(CHART_TYPES), z.array(z.string()).min(2)),
          })
          .partial({ cellRangeCols: true })
          .optional(),
        columnsDefs: z.array(ColumnDef).min(1),
      }),
    })
    .optional(),
  mcp_tool: z.strictObject({ mcp_server: z.string(), tool_id: z.string() }).optional(),
  refetchInterval: z.number().min(1_000).optional(),
  staleTime: z.number().optional(),
});

/** `widgets.json`: widgets by id. */
export const WidgetsJson = z.record(z.string().regex(/^\w+$/), Widget);

/** A widget of `widgets.json`. */
export type WorkspaceWidget = z.infer<typeof Widget>;

const LayoutItem = z
  .strictObject({
    i: z.string(),
    x: z.int().min(0),
    y: z.int().min(0),
    w: Width,
    h: Height,
    groups: z.array(z.string()).optional(),
    state: z.looseObject({}).optional(),
  })
  .refine(({ x, w }) => x + w <= 40, "the grid is 40 wide");

const App = z.strictObject({
  name: z.string().min(1),
  description: z.string(),
  img: z.url(),
  img_dark: z.url(),
  img_light: z.url(),
  allowCustomization: z.boolean(),
  tabs: z.record(
    z.string(),
    z.strictObject({ id: z.string(), name: z.string(), layout: z.array(LayoutItem) }),
  ),
  groups: z.array(
    z.strictObject({
      name: z.string().regex(/^Group \d+$/),
      type: z.enum(["param", "endpointParam"]),
      paramName: z.string(),
      defaultValue: z.string(),
      widgetIds: z.array(z.string()).min(2),
    }),
  ),
  prompts: z.array(z.string()),
  mcp_servers: z.array(
    z.strictObject({
      name: z.string(),
      description: z.string(),
      url: z.url(),
      authType: z.enum(["oauth", "token"]),
    }),
  ),
});

/** `apps.json`: a list of apps. */
export const AppsJson = z.array(App);

type App = z.infer<typeof App>;
type Apps = z.infer<typeof AppsJson>;
type Widgets = z.infer<typeof WidgetsJson>;

/**
 * Contradictions within or between the two documents, which no schema can detect; empty if there
 * are none.
 */
export function workspaceFaults(widgets: Widgets, apps: Apps): readonly string[] {
  return [...chartFaults(widgets), ...apps.flatMap((app) => appFaults(app, widgets))];
}

/** Charts that use a column which the table does not have. */
const chartFaults = (widgets: Widgets): readonly string[] =>
  Object.entries(widgets).flatMap(([id, { data }]) => {
    const fields = data?.table.columnsDefs.map(({ field }) => field) ?? [];
    const drawn = Object.values(data?.table.chartView?.cellRangeCols ?? {}).flatMap(
      (names) => names ?? [],
    );
    return drawn.filter((name) => !fields.includes(name)).map((name) => `${id}: no column ${name}`);
  });

const appFaults = ({ tabs, groups }: App, widgets: Widgets): readonly string[] => [
  ...Object.entries(tabs).flatMap(([key, { id, layout }]) => [
    ...(key === id ? [] : [`tab ${key}: its id is ${id}`]),
    ...layout.flatMap((item, at) => itemFaults(item, layout.slice(at + 1), groups, widgets)),
  ]),
  ...groups.flatMap((group) => group.widgetIds.flatMap((id) => memberFaults(id, group, widgets))),
];

/**
 * Faults of a layout item: its widget must exist, items must not overlap, and the item and the
 * groups must agree on its membership.
 */
function itemFaults(
  item: Place,
  later: readonly Place[],
  groups: App["groups"],
  widgets: Widgets,
): readonly string[] {
  const named = groups.filter(
    ({ name, widgetIds }) => widgetIds.includes(item.i) !== (item.groups?.includes(name) === true),
  );
  return [
    ...(widgets[item.i] === undefined ? [`${item.i}: no such widget`] : []),
    ...later.filter((one) => overlap(item, one)).map((one) => `${item.i} overlaps ${one.i}`),
    ...named.map(({ name }) => `${item.i}: ${name} and the layout disagree`),
  ];
}

/**
 * Faults of a group member. Its parameter must exist and fit the group's type. A parameter that is
 * set by clicks on cells may be missing; if it exists, it must be hidden, because a visible
 * parameter would swallow the click.
 */
function memberFaults(
  id: string,
  { name, type, paramName }: App["groups"][number],
  widgets: Widgets,
): readonly string[] {
  const { params = [], data } = widgets[id] ?? {};
  const param = params.find((one) => one.paramName === paramName);
  const isSetByCells = data?.table.columnsDefs.some(
    ({ renderFnParams }) => renderFnParams?.groupBy?.paramName === paramName,
  );
  if (param === undefined) return isSetByCells ? [] : [`${id}: does not fit ${name}`];
  const isKind = (param.type === "endpoint") === (type === "endpointParam");
  return [
    ...(isKind ? [] : [`${id}: does not fit ${name}`]),
    ...(isSetByCells && param.show !== false ? [`${id}: a list and a click`] : []),
  ];
}

type Place = z.infer<typeof LayoutItem>;

const overlap = (a: Place, b: Place): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
