/** What lies in Redis of an account, as JSON: what the governor has learnt, and the processes that share it. */

import { isNewer } from '../governor/state.ts';
import { RedisError } from '../redis.ts';

export type Kept = {
  version: typeof VERSION;
  /** Absent where nothing is known yet; `readState` reads it. */
  state?: unknown;
  processes: Record<string, Process>;
};

/** A process when it was last heard of, by Redis's clock; its last change, and what came of it. */
export type Process = { heardAt: number; change: string; result: unknown };

const VERSION = 2;
/** A process that is silent for so long is no longer counted. */
const SILENT_MS = 3_600_000;

/** What is no JSON of ours counts as nothing. @throws RedisError `newer` for one that a newer release has written. */
export function readKept(text: string): Kept {
  const nothing: Kept = { version: VERSION, processes: {} };
  const kept = parsed(text) as Partial<Omit<Kept, 'version'>> & { version?: unknown };
  if (Number(kept.version) > VERSION || isNewer(kept.state))
    throw new RedisError('newer', 'its state is of a newer version');
  return kept.version === VERSION && isObject(kept.processes) ? (kept as Kept) : nothing;
}

/** The same with a change that this process has made. */
export function withChange(kept: Kept, owner: string, process: Process, state: unknown): Kept {
  const { heardAt: now } = process;
  const others = Object.entries(kept.processes).filter(([, { heardAt }]) => now - heardAt < SILENT_MS);
  return { version: VERSION, state, processes: { ...Object.fromEntries(others), [owner]: process } };
}

/** The same once this process has left. */
export function without(kept: Kept, owner: string): Kept {
  const { [owner]: _, ...processes } = kept.processes;
  return { ...kept, processes };
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
