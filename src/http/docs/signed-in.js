// Tells the reference what the authorization server answered.
new BroadcastChannel("api-reference").postMessage(location.search);
history.replaceState(null, "", location.pathname);
close();
