// Keyboard shortcuts of the market: / searches, j and k move between rows, Enter opens a row, x
// selects it.
document.addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  if (
    ctrlKey ||
    metaKey ||
    altKey ||
    target.matches("input:not([type=checkbox]), select, textarea")
  )
    return;
  const rows = [...document.querySelectorAll("table.market tbody tr")];
  if (rows.length === 0) return;
  const at = rows.indexOf(target.closest("tr"));
  const to = { j: at + 1, k: at - 1 }[key];
  if (key === "/") {
    event.preventDefault();
    document.getElementById("q").focus();
  } else if (to !== undefined) {
    rows[Math.max(0, Math.min(rows.length - 1, to))].querySelector("th a").focus();
  } else if (key === "x" && at >= 0) {
    rows[at].querySelector("input").click();
  }
});
