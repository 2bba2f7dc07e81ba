"""An agent that knows only the base address, with Python's standard library: it registers itself,
gets a token and asks for the strongest signals. python3 examples/agent.py [base address]"""

import http.client
import json
import os
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

BASE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:3000"

# Largest answer that is read, in bytes.
MAX_BYTES = 1_000_000

# Time for the whole exchange. That of a socket would begin anew with each byte.
DEADLINE_SECONDS = 30


def give_up():
    print("no answer in time", file=sys.stderr, flush=True)
    os._exit(1)


deadline = threading.Timer(DEADLINE_SECONDS, give_up)
deadline.daemon = True
deadline.start()


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: urllib would send the token along to wherever it leads."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirects)


def ask(path, body=None, headers=None):
    """Sends a GET, or a POST when there is a body. Ends the program in words of its own when that
    fails: what a stranger sent can control the terminal."""
    problem = "no answer"
    try:
        request = urllib.request.Request(BASE + path, data=body, headers=headers or {})
        with opener.open(request) as response:
            problem = f"no JSON of at most {MAX_BYTES} bytes"
            text = response.read(MAX_BYTES + 1)
            if len(text) <= MAX_BYTES:
                return json.loads(text)
    except urllib.error.HTTPError as error:
        problem = f"status {error.code}"
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        pass
    sys.exit(f"{path}: {problem}")


def shown(value):
    """The first 80 characters of a value, with those escaped that a terminal obeys or does not show."""
    return repr(str(value)[:80])[1:-1]


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
    symbol, score, confidence = (shown(signal[name]) for name in ("symbol", "score", "confidence"))
    print(f"{symbol}  {score}  confidence {confidence}")
