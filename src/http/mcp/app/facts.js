/**
 * Data that the service embeds in the document: sentences, labels, shapes and limits, which the app
 * shares with the pages.
 */
export const facts = JSON.parse(document.getElementById("facts").textContent);
