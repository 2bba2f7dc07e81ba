// Starts Swagger UI with the settings embedded in the page.
const root = document.querySelector("#reference");
const { document: address, redirect } = root.dataset;

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

// Treats underscores as part of operation ids, not as spaces as earlier versions did.
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

// Renders the path as plain text, because it is inside a button, which cannot contain a link.
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
  // The validator would send the URL of this service to another site.
  validatorUrl: null,
  oauth2RedirectUrl: new URL(redirect, location.href).href,
});
reference.initOAuth({ usePkceWithAuthorizationCodeGrant: true });

// The sign-in window has no opener, because the pages there use cross-origin isolation. It passes its
// result over a broadcast channel of this site.
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
