// Adds what Swagger UI's markup lacks for screen reader and keyboard users.
const names = {
  "#servers": () => "Server",
  ".examples-select-element": () => "Example",
  "[data-param-name] select": (list) => list.closest("[data-param-name]").dataset.paramName,
  ".body-param__text": () => "Request body",
  ".close-modal": () => "Close",
};

function nameControls() {
  for (const [selector, nameOf] of Object.entries(names)) {
    for (const control of document.querySelectorAll(`${selector}:not([aria-label])`)) {
      control.setAttribute("aria-label", nameOf(control));
    }
  }
}

// Speech input users speak the visible label (WCAG 2.2, 2.5.3).
function nameAsShown() {
  for (const button of document.querySelectorAll("button[aria-label]")) {
    const name = button.getAttribute("aria-label");
    const shown = button.textContent.trim();
    if (!name.includes(shown)) button.setAttribute("aria-label", `${shown}: ${name}`);
  }
}

function reachLongTexts() {
  for (const text of document.querySelectorAll("pre.microlight:not([tabindex])")) text.tabIndex = 0;
}

// Removes the summary once the reference has loaded: a page has one main element.
function endSummary() {
  if (document.querySelector(".opblock") !== null) document.querySelector("#summary")?.remove();
}

new MutationObserver(() => {
  nameControls();
  nameAsShown();
  reachLongTexts();
  endSummary();
}).observe(document.querySelector("#reference"), {
  subtree: true,
  childList: true,
  characterData: true,
  attributeFilter: ["aria-label"],
});
