/** Which view a route shows. The overview is there at once; the others are loaded when they are opened. */

import type { FunctionComponent } from 'preact';
import { Late } from './parts/late.tsx';
import type { Route, ViewName } from './routes.ts';
import { Overview } from './views/overview.tsx';
import type { ViewOf } from './views/view.ts';

type Load<Name extends ViewName> = () => Promise<ViewOf<Name>>;

const late: { [Name in Exclude<ViewName, 'overview'>]: Load<Name> } = {
  dataset: async () => (await import('./views/dataset.tsx')).DatasetView,
  row: async () => (await import('./views/row.tsx')).RowView,
  walks: async () => (await import('./views/walks.tsx')).WalksView,
  walk: async () => (await import('./views/walk.tsx')).WalkView,
  calls: async () => (await import('./views/calls.tsx')).CallsView,
  problems: async () => (await import('./views/problems.tsx')).ProblemsView,
  sql: async () => (await import('./views/sql.tsx')).SqlView,
};

export function View({ route }: { route: Route }) {
  if (route.view === 'overview') return <Overview view="overview" />;
  // Each of them takes the route of its own name.
  const load = late[route.view] as () => Promise<FunctionComponent<Route>>;
  return <Late load={load} props={route} />;
}
