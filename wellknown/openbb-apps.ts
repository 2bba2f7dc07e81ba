import { marketNotes, SERVICE_SUMMARY, type Site } from "../src/answers/site.ts";
import { paths } from "../src/lib/paths.ts";
import type { Widget } from "../src/openbb/widget.ts";
import { widgets } from "../src/openbb/widgets.ts";
import { widgetId } from "./openbb-widgets.ts";
import { SERVER_NAME } from "./server-card.ts";

/**
 * Group of the widgets that show one instrument. Workspace links widgets only in groups with names
 * of this form.
 */
const INSTRUMENT_GROUP = "Group 1";

/**
 * A dashboard tab: its title, and its widgets with the grid position of their upper left corner.
 */
interface Tab {
  readonly title: string;
  readonly places: Readonly<Record<string, { readonly x: number; readonly y: number }>>;
}

/** Tabs by id. Each widget has its default size. */
const TABS: Readonly<Record<string, Tab>> = {
  signals: {
    title: "Signals",
    places: {
      signal: { x: 0, y: 0 },
      market: { x: 0, y: 5 },
      history: { x: 0, y: 20 },
      evidence: { x: 20, y: 20 },
      factors: { x: 0, y: 32 },
      "off-exchange": { x: 20, y: 32 },
    },
  },
  record: { title: "Track record", places: { "track-record": { x: 0, y: 0 } } },
};

/** Suggested questions for the AI agent of Workspace. */
const PROMPTS = [
  "Which instruments have a LONG or SHORT signal with full coverage, and what is each worth?",
  "Why does this instrument have its signal, factor by factor, and which factors are missing?",
  "How did the logged signals turn out, and can that be told from chance?",
];

/**
 * The document apps.json of OpenBB Workspace (docs.openbb.co, apps.json reference): a dashboard of
 * the widgets, in which a click on an instrument changes all linked widgets.
 */
export function openbbApps({ baseUrl, name, market }: Site) {
  const icon = baseUrl + paths.icon;
  return [
    {
      name,
      description: `${SERVICE_SUMMARY} ${marketNotes[market]}`,
      img: icon,
      img_dark: icon,
      img_light: icon,
      allowCustomization: true,
      tabs: Object.fromEntries(
        Object.entries(TABS).map(([id, { title, places }]) => [
          id,
          { id, name: title, layout: Object.entries(places).map(placed) },
        ]),
      ),
      groups: [
        {
          name: INSTRUMENT_GROUP,
          type: "endpointParam",
          paramName: "symbol",
          // With an empty symbol, the endpoints return data for the first instrument of the list.
          defaultValue: "",
          widgetIds: widgets.filter(isLinked).map(widgetId),
        },
      ],
      prompts: PROMPTS,
      // With `token`, Workspace sends the MCP server the authorization header that it also sends to
      // this backend, so that one key works for both.
      mcp_servers: [
        {
          name: SERVER_NAME,
          description: SERVICE_SUMMARY,
          url: baseUrl + paths.mcp,
          authType: "token",
        },
      ],
    },
  ];
}

/**
 * Whether a widget belongs to the instrument group: it shows the selected instrument, or a click in
 * it selects an instrument.
 */
const isLinked = ({ params, table }: Widget): boolean =>
  params.some(({ paramName }) => paramName === "symbol") || table?.sets === "symbol";

/**
 * The layout entry of a widget.
 * @throws {Error} If there is no widget with this name.
 */
function placed([name, place]: readonly [string, { readonly x: number; readonly y: number }]) {
  const widget = widgets.find((one) => one.name === name);
  if (widget === undefined) throw new Error(`There is no widget ${name}.`);
  return {
    i: widgetId(widget),
    ...place,
    ...widget.size,
    ...(isLinked(widget) && { groups: [INSTRUMENT_GROUP] }),
  };
}
