// Passes the authorization response to the reference page.
new BroadcastChannel("api-reference").postMessage(location.search);
history.replaceState(null, "", location.pathname);
close();
