/** `feed-consumer.ts <url> <key> <copy.db> [once]`: copies by the change feed, changes and position in one transaction; with `once` until nothing is new. */

import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';

type Feed = {
  changes: { dataset: string; key: string; row: { _changed_at: string } | null }[];
  next: string;
  hasMore: boolean;
};

const [url, key, file, once] = process.argv.slice(2);
const copy = new Database(file);
copy.exec(`CREATE TABLE IF NOT EXISTS rows (dataset, key, at, PRIMARY KEY (dataset, key));
  CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY, next)`);
const put = copy.prepare('INSERT OR REPLACE INTO rows VALUES (?, ?, ?)');
const remove = copy.prepare('DELETE FROM rows WHERE dataset = ? AND key = ?');
const position = copy.prepare<[], string>('SELECT next FROM position').pluck();
const keep = copy.prepare('INSERT OR REPLACE INTO position VALUES (1, ?)');
const apply = copy.transaction(({ changes, next }: Feed) => {
  for (const { dataset, key, row } of changes)
    if (row) put.run(dataset, key, row._changed_at);
    else remove.run(dataset, key);
  keep.run(next);
});

for (;;) {
  const since = position.get();
  const query = since === undefined ? '' : `&since=${since}`;
  const feed = await fetch(`${url}/mirror/v1/changes?limit=20${query}`, {
    headers: { authorization: `Bearer ${key}` },
  })
    .then(async (answer) => {
      if (answer.ok) return (await answer.json()) as Feed;
      // A past that was dropped, or another mirror: the copy is made anew.
      if (answer.status === 410) copy.exec('DELETE FROM rows; DELETE FROM position');
      return undefined;
    })
    .catch(() => undefined);
  if (feed) apply(feed);
  if (once && feed && !feed.hasMore) break;
  if (!feed?.hasMore) await delay(20);
}
