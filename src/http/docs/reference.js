// Sends requests from the API reference, with a token or key that the person enters or a token
// obtained by signing in.
const root = document.querySelector(".reference");
const credential = document.getElementById("credential");
const field = document.getElementById("credential-text");
const state = document.getElementById("credential-state");

// The credential is kept only in memory, so that it is gone when the page closes.
let token = "";

// Redirects URL fragments of the previous API reference page, such as #/Market/get_signal or
// #/Alerts.
if (location.hash.startsWith("#/")) {
  const last = location.hash.split("/").at(-1);
  location.replace(`#${document.getElementById(last) ? last : last.toLowerCase()}`);
}

function use(text, words) {
  token = text;
  state.textContent = words;
}

credential.hidden = false;
credential.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = field.value.trim();
  use(text, text ? "Requests are sent with it." : "No credential: requests are sent without one.");
});

for (const form of document.querySelectorAll(".try")) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form).catch((error) => show(form, `The request failed: ${error.message}`));
  });
}

async function send(form) {
  const { method, type } = form.dataset;
  // Requests to other origins are rejected, so that only this service receives the credential.
  const url = new URL(form.querySelector("input").value, location.origin);
  if (url.origin !== location.origin) throw new Error("the address is not of this service.");
  const body = form.querySelector("textarea")?.value;
  const headers = {
    ...(token && { authorization: `Bearer ${token}` }),
    ...(type && { "content-type": type }),
  };
  show(form, "Waiting for the answer.");
  const startedAt = performance.now();
  const response = await fetch(url, {
    method,
    headers,
    body,
    credentials: "omit",
    redirect: "manual",
  });
  const text = await response.text();
  const ms = Math.round(performance.now() - startedAt);
  show(form, `${response.status || "redirect"} in ${ms} ms`, readable(text));
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

function show(form, words, text = "") {
  const line = document.createElement("p");
  line.textContent = words;
  const parts = [line];
  if (text) {
    const pre = document.createElement("pre");
    pre.tabIndex = 0;
    pre.textContent = text;
    parts.push(pre);
  }
  form.querySelector("output").replaceChildren(...parts);
}

const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

async function post(path, body, type) {
  const response = await fetch(path, {
    method: "POST",
    body,
    headers: { "content-type": type },
    credentials: "omit",
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error_description ?? answer.detail);
  return answer;
}

/** Runs the authorization code flow with PKCE (RFC 7636) as a dynamically registered client. */
async function signIn(page) {
  const redirect = new URL(root.dataset.redirect, location).href;
  const client = await post(
    "/oauth/register",
    JSON.stringify({
      client_name: "API reference",
      redirect_uris: [redirect],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      scope: root.dataset.scopes,
    }),
    "application/json",
  );
  const [verifier, asked] = [random(), random()];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const query = new URLSearchParams({
    client_id: client.client_id,
    response_type: "code",
    redirect_uri: redirect,
    code_challenge: base64url(digest),
    code_challenge_method: "S256",
    state: asked,
  });
  const answer = answerWith(asked);
  page.location = `/oauth/authorize?${query}`;
  const code = await answer;
  const { access_token: got } = await post(
    "/oauth/token",
    new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: redirect,
      client_id: client.client_id,
      code_verifier: verifier,
    }),
    "application/x-www-form-urlencoded",
  );
  use(got, "Signed in: requests are sent as you, for an hour.");
}

/**
 * Resolves with the authorization code. The redirect page sends it over a BroadcastChannel, because
 * that page has no `opener`.
 */
const answerWith = (asked) =>
  new Promise((resolve, reject) => {
    const channel = new BroadcastChannel("api-reference");
    channel.onmessage = ({ data }) => {
      const answer = new URLSearchParams(data);
      if (answer.get("state") !== asked) return;
      channel.close();
      const code = answer.get("code");
      if (code) resolve(code);
      else reject(new Error(answer.get("error_description") ?? answer.get("error")));
    };
  });

document.getElementById("sign-in").addEventListener("click", () => {
  // The window is opened within the click handler, because browsers block windows that scripts open
  // later.
  const page = open("about:blank", "_blank");
  state.textContent = "Sign in in the window that opened.";
  signIn(page).catch((error) => {
    page?.close();
    use("", `That did not work: ${error.message}`);
  });
});
