// Starts the reference. Everything that it needs to know of the service stands in the page.
const root = document.querySelector("#reference");
const { document: address, redirect } = root.dataset;

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

// Underscores are part of the names of operations, not spaces as in addresses of earlier versions.
const parseDeepLinkHash =
  (_, { layoutActions }) =>
  (hash) => {
    const [tag, operation] = hash.replace(/^#\/?/, "").split("/");
    if (!tag) return;
    const target = operation ? ["operations", tag, operation] : ["operations-tag", tag];
    layoutActions.show(["operations-tag", tag], true);
    layoutActions.show(target, true);
    layoutActions.scrollTo(target);
  };

// The path stands in the button that unfolds the operation, where no link can be.
const OperationSummaryPath =
  (_, { React }) =>
  ({ operationProps }) => {
    const path = operationProps.get("path");
    const parts = path
      .split(/(?=\/)/)
      .flatMap((part, key) => [React.createElement("wbr", { key }), part]);
    return React.createElement(
      "span",
      { className: "opblock-summary-path", "data-path": path },
      parts,
    );
  };

const reference = SwaggerUIBundle({
  url: address,
  domNode: root,
  layout: "BaseLayout",
  plugins: [
    {
      statePlugins: { layout: { wrapActions: { parseDeepLinkHash } } },
      wrapComponents: { OperationSummaryPath },
    },
  ],
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  syntaxHighlight: { theme: "tomorrow-night" },
  // It would send the address of this service to another site.
  validatorUrl: null,
  oauth2RedirectUrl: new URL(redirect, location.href).href,
});
reference.initOAuth({ usePkceWithAuthorizationCodeGrant: true });

// The window in which a person signs in does not know this one: the pages there are kept apart from
// whatever opened them. What it was told comes over a channel of this site.
new BroadcastChannel("api-reference").onmessage = ({ data }) => {
  const { auth, redirectUrl, state, callback, errCb } = window.swaggerUIRedirectOauth2 ?? {};
  const answer = new URLSearchParams(data);
  const code = answer.get("code");
  if (auth === undefined || answer.get("state") !== state) return;
  if (code !== null) {
    callback({ auth: Object.assign(auth, { code }), redirectUrl });
    return;
  }
  const message = answer.get("error_description") ?? answer.get("error");
  errCb({ authId: auth.name, source: "auth", level: "error", message });
};
