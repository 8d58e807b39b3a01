/** Which view a route shows. The overview is there at once; the others are loaded when they are opened. */

import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failed, Loading } from './parts/states.tsx';
import type { Route, ViewName } from './routes.ts';
import type { Trouble } from './service.ts';
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

const loaded: { [Name in ViewName]?: FunctionComponent<never> } = { overview: Overview };

export function View({ route }: { route: Route }) {
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [, render] = useState({});
  const { view } = route;
  useEffect(() => {
    let isCurrent = true;
    setTrouble(null);
    if (view !== 'overview' && !loaded[view])
      late[view]().then(
        (found) => {
          loaded[view] = found as FunctionComponent<never>;
          if (isCurrent) render({});
        },
        () => isCurrent && setTrouble(notLoaded),
      );
    return () => {
      isCurrent = false;
    };
  }, [view]);
  const Shown = loaded[view] as FunctionComponent<Route> | undefined;
  if (Shown) return <Shown {...route} />;
  return trouble ? <Failed trouble={trouble} again={() => location.reload()} /> : <Loading />;
}

const notLoaded: Trouble = {
  kind: 'away',
  message:
    'this part of the page could not be loaded: the service is away, or was updated; load the page again',
};
