/** The address of the page: the view of its path, and the moment that every view shows, which all links keep. */

import { parseTime } from '../src/base/time.ts';
import { serviceNow } from './clock.ts';
import { conditionsIn, type Sql, type Term } from './question.ts';
import { type Route, routeOf } from './routes.ts';
import { store, useStore } from './store.ts';

type PageAddress = {
  /** Null for a path that is none of the page's. */
  route: Route | null;
  path: string;
  /** With its times as ISO 8601 UTC. */
  search: URLSearchParams;
  /** Behind the `#`, which the service never sees. */
  hash: URLSearchParams;
  /** The moment to show, ISO 8601 UTC with milliseconds; null for now. */
  at: string | null;
  /** The first parameter that was to be a time, and why it is none; null where all are. */
  wrongTime: { name: string; problem: string } | null;
};

export type Search = Readonly<Record<string, string | number | null | undefined>>;

const pageAddress = store(readAddress());

export const usePageAddress = (): PageAddress => useStore(pageAddress);

/** An address within the page, at the same moment. */
export function linkTo(path: string, search: Search = {}): string {
  return addressOf(path, new URLSearchParams(), { at: pageAddress.get().at, ...search });
}

/** The editor with this in it, behind the `#`, which the service never sees. @param isChart its answer is drawn. */
export function linkToSql(
  { sql, params }: Sql,
  at: string | null = pageAddress.get().at,
  isChart = false,
): string {
  const hasParams = Object.keys(params).length > 0;
  const hash = new URLSearchParams({
    sql,
    ...(hasParams && { params: JSON.stringify(params) }),
    ...(isChart && { show: 'chart' }),
  });
  return `${linkTo('/sql', { at })}#${hash}`;
}

/** The answer as JSON. @param asOf the moment of what is shown: another one may have been chosen since. */
export function linkToJson(question: Sql | { ask: string }, asOf: string | null): string {
  const asked = 'sql' in question ? { sql: question.sql, params: JSON.stringify(question.params) } : question;
  return addressOf('/page/query.json', new URLSearchParams(), { ...asked, asOf });
}

/** The present address with other parameters; null or undefined takes one away. The query behind the `#` stays. */
export function linkHere(search: Search): string {
  const { path, search: present, hash } = pageAddress.get();
  const address = addressOf(path, present, search);
  return `${hash}` === '' ? address : `${address}#${hash}`;
}

/** The first page of the present list with these conditions instead of its own. */
export function linkWhere(terms: readonly Term[], changes: Search = {}): string {
  const { path, search: present } = pageAddress.get();
  const before = conditionsIn(present).map(([name]) => name);
  const kept = new URLSearchParams([...present].filter(([name]) => !before.includes(name)));
  for (const [name, value] of terms) kept.append(name, value);
  return addressOf(path, kept, { offset: null, ...changes });
}

/** @param how `replace` where going back should not lead here. */
export function go(address: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'replace') history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  pageAddress.set(readAddress());
}

/** Lets links within the page change the view without loading it anew. */
export function followLinks(): void {
  addEventListener('popstate', () => pageAddress.set(readAddress()));
  document.addEventListener('click', (event) => {
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
    const isPlain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || event.defaultPrevented || link.target !== '' || link.download !== '') return;
    const { origin, pathname, search, hash } = new URL(link.href);
    if (origin !== location.origin || routeOf(pathname) === null) return;
    event.preventDefault();
    // The address keeps its own `#`, behind which a query stands.
    if (link.getAttribute('href')?.startsWith('#')) return document.querySelector<HTMLElement>(hash)?.focus();
    go(pathname + search + hash);
  });
}

function addressOf(path: string, present: URLSearchParams, changes: Search): string {
  const search = new URLSearchParams(present);
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === undefined) search.delete(name);
    else search.set(name, String(value));
  // Colons may stand in a query, and a time is easier to read with them.
  const query = search.toString().replaceAll('%3A', ':');
  return query === '' ? path : `${path}?${query}`;
}

function readAddress(): PageAddress {
  const { pathname: path, search: query, hash } = location;
  const search = new URLSearchParams(query);
  const route = routeOf(path);
  const wrongTime = readTimes(search);
  return {
    route,
    path,
    search,
    hash: new URLSearchParams(hash.slice(1)),
    at: wrongTime?.name === 'at' ? null : search.get('at'),
    wrongTime,
  };
}

/** An address may have been written by hand. */
function readTimes(search: URLSearchParams): PageAddress['wrongTime'] {
  let wrong: PageAddress['wrongTime'] = null;
  for (const name of ['at', 'from', 'to']) {
    const written = search.get(name);
    if (written === null) continue;
    const time = parseTime(written, serviceNow());
    if ('problem' in time) wrong ??= { name, problem: time.problem };
    else search.set(name, new Date(time.ms).toISOString());
  }
  return wrong;
}
