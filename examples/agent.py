"""An agent that knows only the base address, with Python's standard library: it registers itself,
gets a token and asks for the strongest signals. python3 examples/agent.py [base address]"""

import json
import sys
import urllib.parse
import urllib.request

BASE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:3000"


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: urllib would send the token along to wherever it leads."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirects)


def ask(path, body=None, headers=None):
    """Sends a GET, or a POST when there is a body; raises HTTPError when the service refuses."""
    request = urllib.request.Request(BASE + path, data=body, headers=headers or {})
    with opener.open(request) as response:
        return json.load(response)


client = ask(
    "/oauth/register",
    json.dumps({"client_name": "Example agent"}).encode(),
    {"content-type": "application/json"},
)
form = {
    "grant_type": "client_credentials",
    "client_id": client["client_id"],
    "client_secret": client["client_secret"],
}
token = ask("/oauth/token", urllib.parse.urlencode(form).encode())["access_token"]
bearer = {"authorization": f"Bearer {token}"}

signals = ask("/api/signals?signal=LONG&limit=500", headers=bearer)["items"]
for signal in sorted(signals, key=lambda one: -one["score"])[:5]:
    print(f"{signal['symbol']}  {signal['score']}  confidence {signal['confidence']}")
