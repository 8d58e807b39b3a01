"""The bare loop over the AI signals by Python's standard library: `bare_loop.py <url> <folder>`.

With `--lines` it writes the rows to standard output, a line each, for a tool that reads them.
"""

import http.client
import json
import os
import resource
import sqlite3
import sys
from urllib.parse import urlsplit

url, folder = sys.argv[1:3]
as_lines = "--lines" in sys.argv
columns = {
    "id": "id", "timestamp": "timestamp", "asset": "asset", "action": "action", "confidence": "confidence",
    "risk_reward": "riskReward", "entry_price": "entryPrice", "tp_price": "tpPrice", "sl_price": "slPrice",
    "rationale": "rationale", "status": "status", "asset_class": "assetClass", "screener_score": "screenerScore",
    "regime": "regime",
}
nested = {
    "validator": ["allowed", "score", "reasonCodes", "finalAction"],
    "quality": ["publishable", "grade", "ageSeconds", "freshness", "checks"],
    "dualAi": ["analyst", "arbiter", "verdict", "confidence"],
}
names = [*columns, *(f"{outer}_{inner}" for outer, inners in nested.items() for inner in inners), "dual_ai"]


def flat(value):
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def values_of(row):
    values = [row[name] for name in columns.values()]
    for outer, inners in nested.items():
        around = row[outer] or {}
        values += [flat(around.get(inner)) for inner in inners]
    values.append(flat(row["dualAi"]))
    return values


def pages():
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    offset, more = 0, True
    while more:
        connection.request("GET", f"/api/v1/ai-signals?offset={offset}&limit=100")
        page = json.loads(connection.getresponse().read())
        yield page["rows"]
        offset += page["pagination"]["returned"]
        more = page["pagination"]["hasMore"]


def save():
    db = sqlite3.connect(os.path.join(folder, "python.db"), isolation_level=None)
    db.execute("PRAGMA journal_mode = wal")
    db.execute("PRAGMA synchronous = full")
    db.execute(f"CREATE TABLE IF NOT EXISTS ai_signals ({names[0]} TEXT PRIMARY KEY, {', '.join(names[1:])})")
    changes = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    upsert = f"INSERT INTO ai_signals VALUES ({', '.join('?' * len(names))}) ON CONFLICT DO UPDATE SET {changes}"
    for rows in pages():
        db.execute("BEGIN IMMEDIATE")
        db.executemany(upsert, map(values_of, rows))
        db.execute("COMMIT")
    db.close()


def write_figures():
    try:
        with open("/proc/self/io") as io:
            counts = dict(line.split(": ") for line in io)
        written = int(counts["write_bytes"]) - int(counts["cancelled_write_bytes"])
    except OSError:
        written = None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with open(os.environ["LAB_FIGURES"], "w") as file:
        json.dump({"peakMb": peak, "longestStallMs": None, "writtenBytes": written}, file)


if as_lines:
    for page in pages():
        sys.stdout.write("".join(json.dumps(row) + "\n" for row in page))
else:
    save()
    write_figures()
