import { button, el, isolatedText, withAttributes } from "./elements.js";
import { facts } from "./facts.js";
import { historyView } from "./history-view.js";
import { Host, isObject } from "./host.js";
import { applyHostContext, reportSize } from "./host-context.js";
import { textView } from "./parts.js";
import { linkButton, problemView } from "./problem-view.js";
import { signalView } from "./signal-view.js";

const content = document.getElementById("content");
const place = document.getElementById("view");
const news = document.getElementById("news");
const back = document.getElementById("back");
const more = document.getElementById("more");

/**
 * Columns requested for a history chart; with only these, 250 sessions fit in one page of results.
 */
const HISTORY_FIELDS = ["session", "price", "scoreSmoothed"];

/** Arguments of the latest call of `get_signal` that the host reported. */
let given = {};

/** Stack of hidden views to which the Back button returns. */
const below = [];

let context = {};

const host = new Host({
  "ui/notifications/tool-input-partial": (input) => showWaiting(Object(input.arguments)),
  "ui/notifications/tool-input": (input) => {
    given = Object(input.arguments);
    showWaiting(given);
  },
  "ui/notifications/tool-result": (result) => show(viewOf(result, given)),
  "ui/notifications/tool-cancelled": ({ reason }) => show(cancelledView(reason)),
  "ui/notifications/host-context-changed": (changes) => useContext(changes),
  "ui/resource-teardown": end,
});

let stopReporting = () => {};

function end() {
  stopReporting();
  for (const control of document.querySelectorAll("button")) control.disabled = true;
}

function useContext(changes) {
  context = { ...context, ...changes };
  applyHostContext(changes);
  const modes = context.availableDisplayModes;
  more.hidden = !(Array.isArray(modes) && modes.includes("fullscreen") && modes.includes("inline"));
  more.textContent = isFullscreen() ? "Smaller" : "Larger";
}

const isFullscreen = () => context.displayMode === "fullscreen";

/**
 * Shows a view in response to a message from the host. If the person has opened another view, that
 * view stays visible, and the Back button leads to the new view.
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

/** Shows a placeholder while the tool runs. */
function showWaiting({ symbol }) {
  if (below.length > 0) return;
  place.setAttribute("aria-busy", "true");
  place.replaceChildren(
    el(
      "h1.waiting",
      "Waiting for the answer",
      symbol ? [" about ", isolatedText(symbol)] : "",
      "…",
    ),
  );
}

const cancelledView = (reason) =>
  el(
    "article",
    withAttributes("h1", { tabindex: -1 }, "It was stopped"),
    el("p", "There is no answer.", reason ? ` The reason given: ${reason}` : ""),
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
 *
 * @param asked Arguments of the call.
 */
function viewOf(result, asked) {
  const said = saidIn(result);
  const answer = answerIn(result, said);
  if (result.isError === true) {
    const claim = linkButton("Open the claim page", answer.claim?.page, openLink);
    return problemView(answer, said, [claim].filter(Boolean));
  }
  try {
    const view = isObject(answer.history) ? historyView(answer) : signalView(answer);
    const actions = actionsFor(answer, asked);
    if (actions.length > 0) view.append(el("p.actions", actions));
    return view;
  } catch {
    return textView(said === "" ? JSON.stringify(answer, undefined, 2) : said, answer);
  }
}

/** Buttons for the actions that an answer allows. */
function actionsFor({ symbol, history, risk, nextCursor }, asked) {
  const ask = (text, next) => button(text, (event) => askFor(event.currentTarget, next));
  const isSignal = canCall() && !isObject(history);
  const address = `${facts.baseUrl}/market/${encodeURIComponent(symbol)}`;
  return [
    canCall() &&
      typeof nextCursor === "string" &&
      ask("Next page", { ...asked, cursor: nextCursor }),
    isSignal && !risk && ask("Details", { symbol, detail: "full" }),
    isSignal && ask("History", { symbol, last: 250, fields: HISTORY_FIELDS }),
    host.can("openLinks") && linkButton("Open the page", address, openLink),
  ].filter(Boolean);
}

/** Asks `get_signal` for the person and shows its result. */
async function askFor(control, asked) {
  await attempt(control, async () => {
    open(viewOf(await host.callTool("get_signal", asked), asked));
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
