/** The addresses of the page. */

import type { FunctionComponent } from 'preact';

export type Route =
  | { view: 'overview' }
  | { view: 'dataset'; job: string }
  | { view: 'row'; job: string; key: string }
  | { view: 'changes' }
  | { view: 'walks' }
  | { view: 'walk'; id: number }
  | { view: 'calls' }
  | { view: 'problems' }
  | { view: 'quota' }
  | { view: 'sql' }
  | { view: 'reports' };

export type ViewName = Route['view'];

/** A component that is given what its route says. */
export type ViewOf<Name extends ViewName> = FunctionComponent<Extract<Route, { view: Name }>>;

/** The view of a path, or null. */
export function routeOf(path: string): Route | null {
  const parts = partsOf(path);
  if (parts === null) return null;
  const [room, second, third, fourth] = parts;
  switch (`${room}/${parts.length}`) {
    case '/1':
      return { view: 'overview' };
    case 'datasets/2':
      return second ? { view: 'dataset', job: second } : null;
    case 'datasets/4':
      return third === 'rows' && second && fourth ? { view: 'row', job: second, key: fourth } : null;
    case 'walks/2':
      return /^\d{1,15}$/.test(second ?? '') ? { view: 'walk', id: Number(second) } : null;
    case 'changes/1':
    case 'walks/1':
    case 'calls/1':
    case 'problems/1':
    case 'quota/1':
    case 'sql/1':
    case 'reports/1':
      return { view: room as 'changes' | 'walks' | 'calls' | 'problems' | 'quota' | 'sql' | 'reports' };
    default:
      return null;
  }
}

/** The path of a view; what it is about may hold any letters. */
export function pathOf(route: Route): string {
  switch (route.view) {
    case 'overview':
      return '/';
    case 'dataset':
      return `/datasets/${encodeURIComponent(route.job)}`;
    case 'row':
      return `/datasets/${encodeURIComponent(route.job)}/rows/${encodeURIComponent(route.key)}`;
    case 'walk':
      return `/walks/${route.id}`;
    default:
      return `/${route.view}`;
  }
}

function partsOf(path: string): string[] | null {
  try {
    return path.slice(1).split('/').map(decodeURIComponent);
  } catch {
    return null;
  }
}
