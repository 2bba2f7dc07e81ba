// Keeps the live parts of a page up to date. The page is complete without it.
const EVERY_MS = 5_000;
const SLOWEST_MS = 60_000;
const TYPING_MS = 150;
const news = document.getElementById("news");

/**
 * Updates a node to match a new one. Equal parts stay untouched, so that they keep focus and
 * selection.
 */
function renew(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of old.getAttributeNames()) {
    // `open` is kept, so that elements that the person opened stay open.
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  renewChildren(old, fresh);
}

function renewChildren(old, fresh) {
  const matches = matchesOf(old, fresh);
  const kept = new Set(matches.values());
  for (const child of [...old.childNodes]) if (!kept.has(child)) child.remove();
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const match = matches.get(child);
    if (match && match === place) place = place.nextSibling;
    else old.insertBefore(match ?? child, place);
    if (match) renew(match, child);
  }
}

/** Pairs new nodes with old ones: by id, otherwise by position. */
function matchesOf(old, fresh) {
  const named = new Map([...old.children].filter(({ id }) => id).map((one) => [one.id, one]));
  const others = [...old.childNodes].filter(({ id }) => !id);
  const pairs = [...fresh.childNodes].map((child) => [
    child,
    child.id ? named.get(child.id) : others.shift(),
  ]);
  return new Map(pairs.filter(([, match]) => match));
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const focused = document.activeElement;
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(part.id);
    // A part is missing if access was lost; the reload shows the refusal.
    if (!next) return location.reload();
    renew(part, next);
  }
  document.dispatchEvent(new Event("renewed"));
  if (focused.isConnected && focused !== document.activeElement) {
    focused.focus({ preventScroll: true });
  }
}

let tag = "";
let good = new Date();
let failures = 0;
let timer;

async function refresh() {
  clearTimeout(timer);
  if (document.hidden) return;
  again(SLOWEST_MS);
  const address = location.href;
  try {
    const answer = await fetch(address, {
      cache: "no-store",
      headers: { accept: "text/html", "if-none-match": tag, "x-live-parts": "only" },
      signal: AbortSignal.timeout(SLOWEST_MS / 2),
    });
    if (!answer.ok && answer.status !== 304) throw new Error(String(answer.status));
    const text = await answer.text();
    // The response is discarded if the filter has changed in the meantime; the change has started
    // its own request.
    if (address !== location.href) return;
    if (answer.status !== 304) show(text);
    tag = answer.headers.get("etag") ?? "";
    good = new Date();
    news.textContent = failures > 0 ? "Up to date again." : "";
    failures = 0;
  } catch {
    failures++;
    news.textContent = `Not up to date since ${good.toISOString().slice(11, 16)} UTC.`;
  }
  clearTimeout(timer);
  again(Math.min(EVERY_MS * 2 ** failures, SLOWEST_MS));
}

/** Schedules the next refresh in `ms` milliseconds, if the data of the page can change. */
function again(ms) {
  if (isLive) timer = setTimeout(refresh, ms);
}

const isLive = news !== null && "refresh" in news.dataset;
again(EVERY_MS);
if (isLive) document.addEventListener("visibilitychange", refresh);

// Searches as you type: input in the form changes the URL, and the list is fetched for that URL.
const filters = document.querySelector("form.filters");
let typing;
filters?.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    const query = new URLSearchParams(location.search);
    query.delete("page");
    for (const [name, value] of new FormData(filters)) {
      if (value === "") query.delete(name);
      else query.set(name, value);
    }
    history.replaceState(null, "", query.size > 0 ? `/?${query}` : "/");
    refresh();
  }, TYPING_MS);
});
