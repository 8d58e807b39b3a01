/** The service on the folder: at work, or what keeps the daemon from running it. */

import { holderNote, livingHolder } from '../../store/read.ts';

/** What the process that serves leaves beside its lock. */
export type ServeNote = {
  /** Where it is reached. */
  url: string;
  /** Since when, ISO 8601 UTC. */
  since: string;
  /** Who may see its page, as MIRROR_SERVE_PAGE has it; absent where an earlier version serves. */
  page?: 'off' | 'token' | 'open';
};

/** What the process that serves says to the daemon that started it. */
export type ServeWord = { serving: string } | { failed: string };

/** What keeps a part of the daemon, its service or a target, from its work, as the daemon notes it. */
export type Trouble = {
  /** One line for a person. */
  message: string;
  /** ISO 8601 UTC. */
  since: string;
  /** When it is tried again. */
  nextTry: string;
};

/** A process that serves; address and time are null until it listens. */
export type ServeStatus = { pid: number; url: string | null; since: string | null } & Pick<ServeNote, 'page'>;

/** The process that serves from the folder, or null where none lives. */
export function readService(dir: string): ServeStatus | null {
  const pid = livingHolder(dir, 'serve');
  return pid === null ? null : { pid, ...(readNote<ServeNote>(dir, 'serve') ?? { url: null, since: null }) };
}

/** A note may be read in the middle of being written, which takes microseconds. */
const TRIES = 3;

/** What the holder of the lock has left for those who look, as JSON. */
export function readNote<Note>(dir: string, lock: string): Note | null {
  for (let left = TRIES; left > 0; left -= 1) {
    const note = holderNote(dir, lock);
    if (note === null) return null;
    try {
      return JSON.parse(note) as Note;
    } catch {}
  }
  return null;
}
