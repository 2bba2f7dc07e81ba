// Shows a crosshair over the charts, with the figures from the table below. The page is complete
// without this script.
document.documentElement.classList.add("scripted");

/**
 * `places`: for each plot, the column last pointed at; `shown`: the plots that show a crosshair.
 */
const places = new Map();
const shown = new Set();

/**
 * Places the crosshair of a plot on a session, and shows the session's table row; for `undefined`,
 * removes both.
 */
function point(plot, place) {
  const count = Number(plot.dataset.count);
  const output = plot.parentElement.querySelector("output");
  plot.classList.toggle("pointed", place !== undefined);
  if (place === undefined) {
    shown.delete(plot);
    output.textContent = "";
    return;
  }
  shown.add(plot);
  const chosen = Math.max(0, Math.min(count - 1, place));
  places.set(plot, chosen);
  for (const cross of plot.querySelectorAll(".cross")) {
    cross.setAttribute("x1", chosen);
    cross.setAttribute("x2", chosen);
  }
  const table = document.getElementById(plot.dataset.table);
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const figures = [...table.tBodies[0].rows[count - 1 - chosen].cells].map(
    (cell) => cell.textContent,
  );
  output.textContent = figures
    .map((figure, at) => (at > 0 ? `${names[at]} ${figure}` : figure))
    .join(" · ");
}

const plotOf = ({ target }) => target.closest?.(".plot[data-table]");

// `pointerdown` is needed because a finger that taps does not move.
for (const name of ["pointerdown", "pointermove"]) document.addEventListener(name, follow);

function follow(event) {
  const plot = plotOf(event);
  for (const other of shown) {
    if (other !== plot && other !== document.activeElement) point(other);
  }
  if (!plot) return;
  const { left, width } = plot.querySelector("svg").getBoundingClientRect();
  point(plot, Math.floor(((event.clientX - left) / width) * Number(plot.dataset.total)));
}

// Updating a plot removes its crosshair, so it is placed again.
document.addEventListener("renewed", () => {
  for (const plot of shown) if (plot.isConnected) point(plot, places.get(plot));
});

document.addEventListener("focusout", (event) => {
  const plot = plotOf(event);
  if (plot) point(plot);
});

document.addEventListener("keydown", (event) => {
  const plot = plotOf(event);
  if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
  const count = Number(plot.dataset.count);
  const at = places.get(plot) ?? count;
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  point(plot, to);
});
