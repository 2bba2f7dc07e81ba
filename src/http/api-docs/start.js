// Starts the reference. Everything that it needs to know of the service stands in the page.
const root = document.querySelector("#reference");
const { document: address, redirect } = root.dataset;

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

const reference = SwaggerUIBundle({
  url: address,
  domNode: root,
  layout: "BaseLayout",
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
