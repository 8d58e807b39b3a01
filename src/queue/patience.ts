/** How long something is waited for. */

import { once } from 'node:events';

/** Whether `work` ended within `ms`. Its failure is thrown. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What `work` comes to, unless `signal` is aborted first: then its reason is thrown. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
  signal.throwIfAborted();
  const over = new AbortController();
  const stopped = once(signal, 'abort', { signal: over.signal });
  stopped.catch(() => undefined);
  try {
    return await Promise.race([work, stopped.then(() => Promise.reject(signal.reason))]);
  } finally {
    over.abort();
  }
}
