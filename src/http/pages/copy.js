// Copies the text of an element to the clipboard, and says so in the status region of the page.
for (const button of document.querySelectorAll("[data-copy]")) {
  // Browsers allow copying only on https pages and on localhost.
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const status = document.getElementById("news");
    const { textContent } = document.getElementById(button.dataset.copy);
    const isCopied = await navigator.clipboard.writeText(textContent).then(
      () => true,
      () => false,
    );
    button.textContent = isCopied ? "Copied" : "Select and copy";
    if (status)
      status.textContent = isCopied ? "Copied." : "The browser does not let this page copy.";
    setTimeout(() => {
      button.textContent = "Copy";
      if (status) status.textContent = "";
    }, 2_000);
  });
}
