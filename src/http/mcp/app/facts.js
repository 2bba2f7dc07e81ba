/** What the service says in one place for its pages and this app: sentences, labels, shapes, limits. */
export const facts = JSON.parse(document.getElementById("facts").textContent);
