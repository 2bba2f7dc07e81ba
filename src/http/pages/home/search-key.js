// The key / goes to the search of the market.
document.addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  const isTyping = target.matches("input:not([type=checkbox]), select, textarea");
  const search = document.getElementById("q");
  if (key !== "/" || ctrlKey || metaKey || altKey || isTyping || search === null) return;
  event.preventDefault();
  search.focus();
});
