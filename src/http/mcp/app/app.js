import { alertDraftOf, alertForm } from "./alert-form.js";
import { alertFacts, alertView, linkButton, problemView } from "./alert-view.js";
import { button, el, isolatedText, withAttributes } from "./elements.js";
import { factorsView } from "./factors-view.js";
import { facts } from "./facts.js";
import { historyView } from "./history-view.js";
import { Host, isObject } from "./host.js";
import { applyHostContext, reportSize } from "./host-context.js";
import { listView } from "./list-view.js";
import { textView } from "./parts.js";
import { signalView } from "./signal-view.js";
import { trackRecordView } from "./track-record-view.js";

const content = document.getElementById("content");
const place = document.getElementById("view");
const news = document.getElementById("news");
const back = document.getElementById("back");
const more = document.getElementById("more");

/**
 * Columns requested for a history chart; with only these, 250 sessions fit in one page of results.
 */
const HISTORY_FIELDS = ["session", "price", "scoreSmoothed"];

/** Name of the tool that creates alerts. */
const REGISTER = "register_alert";

/** The latest tool call that the host reported: the tool's name and its arguments. */
const call = { tool: undefined, given: {} };

/** Stack of hidden views to which the Back button returns. */
const below = [];

let context = {};

const host = new Host({
  "ui/notifications/tool-input-partial": ({ arguments: given }) => showWaiting(Object(given)),
  "ui/notifications/tool-input": ({ arguments: given }) => {
    call.given = Object(given);
    showWaiting(call.given);
  },
  "ui/notifications/tool-result": (result) => show(viewOf(result, call)),
  "ui/notifications/tool-cancelled": ({ reason }) => show(cancelledView(reason)),
  "ui/notifications/host-context-changed": (changes) => useContext(changes),
  "ui/resource-teardown": end,
});

let stopReporting = () => {};

function end() {
  stopReporting();
  for (const control of document.querySelectorAll("button, input")) control.disabled = true;
}

function useContext(changes) {
  context = { ...context, ...changes };
  applyHostContext(changes);
  const tool = context.toolInfo?.tool?.name;
  if (typeof tool === "string") call.tool = tool;
  const modes = context.availableDisplayModes;
  more.hidden = !(Array.isArray(modes) && modes.includes("fullscreen") && modes.includes("inline"));
  more.textContent = isFullscreen() ? "Smaller" : "Larger";
}

const isFullscreen = () => context.displayMode === "fullscreen";

/**
 * Shows a view in response to a message from the host. If the person has opened another view, such
 * as a form, that view stays visible, and the Back button leads to the new view.
 */
function show(view) {
  if (below.length > 0) below[0] = view;
  else replace(view);
}

function replace(view) {
  place.replaceChildren(view);
  place.removeAttribute("aria-busy");
  back.hidden = below.length === 0;
}

/** Shows a view that the person requested, on top of the current view. */
function open(view) {
  below.push(place.firstElementChild);
  replace(view);
  place.querySelector("h1").focus();
}

function goBack() {
  replace(below.pop());
  place.querySelector("h1")?.focus();
}

/** Shows a placeholder while the tool runs: the requested alert, or a waiting text. */
function showWaiting(given) {
  if (below.length > 0) return;
  place.setAttribute("aria-busy", "true");
  place.replaceChildren(
    isAlert({ tool: call.tool, given }) && hasSubject(given)
      ? el(
          "article",
          el("h1", "The assistant wants this alert"),
          el("section.card", alertFacts(alertDraftOf(given))),
        )
      : el(
          "h1.waiting",
          "Waiting for the answer",
          given.symbol ? [" about ", isolatedText(given.symbol)] : "",
          "…",
        ),
  );
}

/**
 * Whether a call creates an alert. Hosts may omit the name of the tool; the arguments then decide.
 */
const isAlert = ({ tool, given }) =>
  tool === undefined ? "delivery" in given || "kinds" in given : tool === REGISTER;

const hasSubject = ({ symbols, watchlist, assetClass, signal }) =>
  Boolean(symbols ?? watchlist ?? assetClass ?? signal);

const cancelledView = (reason) =>
  el(
    "article",
    withAttributes("h1", { tabindex: -1 }, "It was stopped"),
    el("p", "Nothing was made or changed.", reason ? ` The reason given: ${reason}` : ""),
    isAlert(call) &&
      canCall() &&
      el(
        "p.actions",
        button("", "Make it myself", () => openForm(call.given)),
      ),
  );

const canCall = () => host.can("serverTools");

/** The text blocks of a tool result, joined by line breaks. */
const saidIn = ({ content: blocks }) =>
  (Array.isArray(blocks) ? blocks : [])
    .filter((block) => block?.type === "text")
    .map(({ text }) => String(text))
    .join("\n");

/**
 * The structured content of a tool result. Some hosts omit `structuredContent`; the object is then
 * parsed from the text, which contains the same JSON.
 */
function answerIn({ structuredContent }, said) {
  if (isObject(structuredContent)) return structuredContent;
  try {
    const parsed = JSON.parse(said);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

/**
 * The view of a tool result: an error view, a graphical view, or the plain text if the result
 * cannot be drawn.
 */
function viewOf(result, { tool, given }) {
  const said = saidIn(result);
  const answer = answerIn(result, said);
  if (result.isError === true) return failure(answer, said, { tool, given });
  try {
    const view = pictureOf(answer);
    const actions = actionsFor(answer, { tool, given });
    if (actions.length > 0) view.append(el("p.actions", actions));
    return view;
  } catch {
    return textView(said === "" ? JSON.stringify(answer, undefined, 2) : said, answer);
  }
}

function pictureOf(answer) {
  if (Array.isArray(answer.records)) return trackRecordView(answer);
  if (isObject(answer.delivery)) return alertView(answer);
  if (isObject(answer.history)) return historyView(answer);
  if (Array.isArray(answer.items)) return listView(answer, canCall() ? openSymbol : undefined);
  if (isObject(answer.factors)) return factorsView(answer);
  return signalView(answer);
}

/** Buttons for the actions that an answer allows. */
function actionsFor({ symbol, factors, history, risk, nextCursor }, { tool, given }) {
  const ask = (text, name, asked) => button("", text, (event) => askFor(event, name, asked));
  const next =
    canCall() &&
    typeof nextCursor === "string" &&
    tool !== undefined &&
    ask("Next page", tool, { ...given, cursor: nextCursor });
  if (typeof symbol !== "string") return [next].filter(Boolean);
  const isSignal = canCall() && !isObject(factors) && !isObject(history);
  const address = `${facts.baseUrl}/market/${encodeURIComponent(symbol)}`;
  return [
    next,
    isSignal && ask("Factors", "get_factors", { symbol, detail: "full" }),
    isSignal && !risk && ask("Details", "get_signal", { symbol, detail: "full" }),
    isSignal && ask("History", "get_signal", { symbol, last: 250, fields: HISTORY_FIELDS }),
    canCall() && button("", "Alert me", () => openForm({ symbols: [symbol] })),
    host.can("openLinks") && linkButton("Open the page", address, openLink),
  ].filter(Boolean);
}

function failure(answer, said, { tool, given }) {
  return problemView(
    answer,
    said,
    [
      linkButton("Open the claim page", answer.claim?.page, openLink),
      canCall() &&
        isAlert({ tool, given }) &&
        button(".main", "Change and try again", () => openForm(given)),
    ].filter(Boolean),
  );
}

const openSymbol = (symbol) => askFor(undefined, "get_signal", { symbol });

/** Calls a read-only tool for the person and shows its result. */
async function askFor(event, tool, given) {
  await attempt(event?.currentTarget, async () => {
    open(viewOf(await host.callTool(tool, given), { tool, given }));
  });
}

async function openLink(url) {
  await attempt(undefined, async () => {
    const { isError } = await host.openLink(url);
    return isError ? `The host did not open ${url}` : undefined;
  });
}

/**
 * Runs an action that the host may refuse. The status line then shows the text that the action
 * returned or, if the host refused, the reason.
 */
async function attempt(control, action) {
  say("Waiting for the host…");
  if (control) control.disabled = true;
  try {
    say((await action()) ?? "");
  } catch (error) {
    say(`The host refused: ${error.message}`);
  } finally {
    if (control) control.disabled = false;
  }
}

const say = (text) => news.replaceChildren(text === "" ? "" : el("span", text));

/** Opens the form that creates an alert. */
function openForm(given) {
  let last;
  open(
    alertForm(alertDraftOf(given), {
      onLeave: goBack,
      onCreate: (wish) => {
        const wanted = JSON.stringify(wish);
        // A retry with unchanged values reuses the idempotency key, so that it does not create a
        // second alert.
        if (last?.wanted !== wanted) last = { wanted, key: newKey() };
        return create({ ...wish, idempotencyKey: last.key });
      },
    }),
  );
}

const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

/** Creates an alert that the person has confirmed. */
async function create(wish) {
  const control = place.querySelector("button.main");
  await attempt(control, async () => {
    const result = await host.callTool(REGISTER, wish);
    open(viewOf(result, { tool: REGISTER, given: wish }));
    const { id } = answerIn(result, saidIn(result));
    if (result.isError === true || typeof id !== "string") return;
    below.length = 1;
    if (!host.can("updateModelContext")) return;
    const told = `The person made the alert ${id} in the app. No further call is needed.`;
    // Errors are ignored: the alert exists even if the host does not inform the model.
    await host.tellModel(told).catch(() => {});
  });
}

back.addEventListener("click", goBack);

more.addEventListener("click", async () => {
  await attempt(more, async () => {
    const { mode } = await host.requestDisplayMode(isFullscreen() ? "inline" : "fullscreen");
    useContext({ displayMode: mode });
  });
});

if (window.parent === window) {
  say("This is a view for MCP clients that show apps; it has nothing to show by itself.");
} else {
  showWaiting({});
  host
    .connect({ name: "market-signal", version: facts.version })
    .then((first) => {
      useContext(first);
      stopReporting = reportSize(content, (size) =>
        host.notify("ui/notifications/size-changed", size),
      );
    })
    .catch((error) => say(`The host does not speak with this app: ${error.message}`));
}
