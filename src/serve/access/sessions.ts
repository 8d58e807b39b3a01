/** Links to the page and the sessions that they open, in `serve.db`: as digests, each with its end. */

import { hash, randomBytes } from 'node:crypto';
import { DAY_MS, isoTime } from '../../base/clock.ts';
import { type Connection, guarded } from '../../store/sqlite-files.ts';
import type { Origin } from '../http/request.ts';
import { accountOwner, type Caller } from './admission.ts';
import { openServeDatabase } from './database.ts';
import { openKnownKeys, PAGE_SCOPE, whyRefused } from './keys.ts';

/** A link may lie in a terminal for long: it opens sessions for a day. */
const LINK_MS = DAY_MS;
const SESSION_MS = 30 * DAY_MS;

/** Of a key, or of all links together: the oldest ends where one more is opened. */
const SESSIONS_PER_KEY = 50;

/** The token itself is given here and nowhere else. */
export type IssuedToken = { readonly token: string; readonly expiresAt: number };

/** What a browser asks the service for. */
export const linkPath = ({ token }: IssuedToken): string => `/?token=${token}`;

/** Who sees the page. */
export type Viewer = {
  /** The account of the key by which the session was opened, else the session: what is shared out is shared among these. */
  readonly owner: string;
  /** Whose key it was; null for who came by a link, who has no limits. */
  readonly caller: Caller | null;
};

export type Sessions = ReturnType<typeof openSessions>;

const tokenForm = /^[\w-]{43}$/;

/** All other calls wait while a visit is written. */
const LOCK_WAIT_MS = 200;

/**
 * @param lockWaitMs how long to wait for another process that is writing.
 * @returns functions that throw Failure as `openServeDatabase` does.
 */
export function openSessions(dir: string, lockWaitMs = LOCK_WAIT_MS) {
  const connection = openServeDatabase(dir, lockWaitMs);
  const { keys, add, evictOldest, sweep, remove, byDigest } = prepare(connection);

  function issue(kind: 'link' | 'session', key: string | null, now: number, lifetimeMs: number): IssuedToken {
    const token = randomBytes(32).toString('base64url');
    const expiresAt = now + lifetimeMs;
    const write = connection.transaction(() => {
      sweep.run(isoTime(now));
      if (kind === 'session') evictOldest.run(key, key, SESSIONS_PER_KEY - 1);
      add.run(hash('sha256', token), kind, key, isoTime(now), isoTime(expiresAt));
    }).immediate;
    guarded(connection.name, write);
    return { token, expiresAt };
  }

  function find(kind: 'link' | 'session', token: string, now: number): Found | undefined {
    if (!tokenForm.test(token)) return undefined;
    return guarded(connection.name, () => byDigest.get(hash('sha256', token), kind, isoTime(now)));
  }

  return {
    issueLink: (now: number): IssuedToken => issue('link', null, now, LINK_MS),
    /** A session for who has the token of a link; undefined where that is none, or is over. */
    openByLink: (token: string, now: number): IssuedToken | undefined =>
      find('link', token, now) ? issue('session', null, now, SESSION_MS) : undefined,
    /** @param key the id of one that opens the page. */
    openByKey: (key: string, now: number): IssuedToken => issue('session', key, now, SESSION_MS),
    /** Ends the session of this token; does nothing for a token of none. */
    end(token: string): void {
      guarded(connection.name, () => remove.run(hash('sha256', token)));
    },
    /** Whose session it is; undefined where it is none. */
    viewerOf(token: string, { address, isLocal }: Origin, now: number): Viewer | undefined {
      const found = find('session', token, now);
      if (!found) return undefined;
      if (found.key === null)
        return isLocal ? { owner: `session ${hash('sha256', token)}`, caller: null } : undefined;
      const key = found.digest === null ? undefined : keys.find(found.digest);
      if (!key || whyRefused(key, { address, scope: PAGE_SCOPE }, now) !== null) return undefined;
      return { owner: accountOwner(key.account), caller: key };
    },
    close: () => void connection.close(),
  };
}

/** Of the key by which a session was opened, where it was. */
type Found = { key: string | null; digest: string | null };

function prepare(connection: Connection) {
  return {
    keys: openKnownKeys(connection),
    add: connection.prepare(
      'INSERT INTO page_tokens (digest, kind, key, created_at, expires_at) VALUES (?, ?, ?, ?, ?)',
    ),
    evictOldest: connection.prepare(
      `DELETE FROM page_tokens WHERE kind = 'session' AND key IS ? AND digest NOT IN (
         SELECT digest FROM page_tokens WHERE kind = 'session' AND key IS ? ORDER BY created_at DESC LIMIT ?)`,
    ),
    sweep: connection.prepare('DELETE FROM page_tokens WHERE expires_at <= ?'),
    remove: connection.prepare("DELETE FROM page_tokens WHERE digest = ? AND kind = 'session'"),
    byDigest: connection.prepare<[string, string, string], Found>(
      `SELECT page_tokens.key, keys.digest FROM page_tokens LEFT JOIN keys ON keys.id = page_tokens.key
       WHERE page_tokens.digest = ? AND kind = ? AND page_tokens.expires_at > ?`,
    ),
  };
}
