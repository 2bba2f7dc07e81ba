import { setTimeFormat } from "./times.js";

/** Names of the host's style variables (MCP Apps 2026-01-26, theming). */
const VARIABLE = /^--(?:color|font|border|shadow)-[a-z0-9-]{1,60}$/;

/**
 * Whether a CSS value is safe to apply, because it loads no resource. The content security policy
 * of the host blocks such requests anyway, but each attempt would log a message in the console.
 */
const isSafeValue = (value) =>
  typeof value === "string" && value.length <= 300 && !/url|image|@|;/i.test(value);

/** Maximum safe-area inset, in CSS pixels. */
const MAX_INSET = 200;

/**
 * Applies the context of the host: theme, colors, fonts, safe-area insets, display mode, language
 * and time zone. Absent members change nothing.
 */
export function applyHostContext(context) {
  const root = document.documentElement;
  const { theme, styles, safeAreaInsets, displayMode } = context;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  for (const [name, value] of Object.entries(Object(styles?.variables))) {
    if (VARIABLE.test(name) && isSafeValue(value)) root.style.setProperty(name, value);
  }
  // A mix of the host's colors and the app's could be unreadable, so the host's palette is used
  // only if it defines both background and text colors.
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
  setTimeFormat(context);
}

/**
 * Reports the size of the content to the host. The height is that of the content, not that of the
 * window: if a host set the frame to a height derived from the window, the frame would grow or
 * shrink endlessly.
 *
 * @param content Element that contains the whole app.
 * @returns A function that stops the reports.
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
