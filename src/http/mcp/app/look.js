import { useTimes } from "./times.js";

/** Names of the host's style variables (MCP Apps 2026-01-26, theming). */
const VARIABLE = /^--(?:color|font|border|shadow)-[a-z0-9-]{1,60}$/;

/** A value that loads nothing: the policy of hosts forbids it, and each try would be a message in the
 *  console. */
const isSafeValue = (value) =>
  typeof value === "string" && value.length <= 300 && !/url|image|@|;/i.test(value);

/** Largest inset, in CSS pixels. */
const MAX_INSET = 200;

/** Follows the host: its theme, colors and fonts, the room it leaves, language and time zone. Members
 *  that are absent stay as they are. */
export function follow(context) {
  const root = document.documentElement;
  const { theme, styles, safeAreaInsets, displayMode } = context;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  for (const [name, value] of Object.entries(Object(styles?.variables))) {
    if (VARIABLE.test(name) && isSafeValue(value)) root.style.setProperty(name, value);
  }
  // Half a palette on ours could not be read: the host's is used once it has ground and text.
  root.toggleAttribute(
    "data-palette",
    ["background", "text"].every((one) => root.style.getPropertyValue(`--color-${one}-primary`)),
  );
  for (const side of ["top", "right", "bottom", "left"]) {
    const inset = safeAreaInsets?.[side];
    if (!Number.isFinite(inset)) continue;
    const pixels = Math.max(0, Math.min(MAX_INSET, inset));
    root.style.setProperty(`--inset-${side}`, `${pixels}px`);
  }
  if (typeof displayMode === "string") {
    root.dataset.mode = displayMode === "fullscreen" ? "fullscreen" : "inline";
  }
  useTimes(context);
}

/**
 * Tells the host how high the content is. Only the content is measured, not the window: a height that
 * depends on the window makes hosts that follow it grow or shrink without end.
 *
 * @param content Element around everything.
 * @returns A function that stops it.
 */
export function reportSize(content, notify) {
  let last = 0;
  const observer = new ResizeObserver(() => {
    const height = Math.ceil(content.getBoundingClientRect().height);
    if (height === last || height === 0) return;
    last = height;
    notify({ width: Math.ceil(window.innerWidth), height });
  });
  observer.observe(content);
  return () => observer.disconnect();
}
