// What the markup of the reference leaves out for people who hear it, or use no mouse.
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

// Who speaks to a computer says what they see (WCAG 2.2, 2.5.3).
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

// The summary makes room for what it stands in for: a page has one main part.
function endSummary() {
  if (document.querySelector(".opblock") !== null) document.querySelector("#summary")?.remove();
}

new MutationObserver(() => {
  nameControls();
  nameAsShown();
  reachLongTexts();
  endSummary();
}).observe(document.querySelector("#reference"), {
  ...{ subtree: true, childList: true, characterData: true, attributeFilter: ["aria-label"] },
});
