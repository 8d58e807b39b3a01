/** The frame of every view: where one may go, which moment is shown, and whether what is shown is current. */

import { useState } from 'preact/hooks';
import type { DatasetStatus } from '../src/serve/ui/wire.ts';
import { useLive } from './live.ts';
import { Connection } from './parts/connection.tsx';
import { Moment } from './parts/moment.tsx';
import { Select } from './parts/select.tsx';
import { Empty } from './parts/states.tsx';
import { outcomes, Sign } from './parts/verdict.tsx';
import { prefer, usePreferences } from './preferences.ts';
import { linkTo, usePlace } from './router.ts';
import { pathOf, type Route } from './routes.ts';
import { signOut } from './service.ts';
import { View } from './views.tsx';

export function Shell() {
  const { route, path, at } = usePlace();
  return (
    <div class={`shell${at === null ? '' : ' past'}`}>
      <a class="skip" href="#content">
        To the content
      </a>
      <Side path={path} />
      <div class="body">
        <header class="bar-top">
          <Moment />
          <Connection />
        </header>
        <main id="content">
          {route ? <View key={path} route={route} /> : <Empty>There is nothing at this address.</Empty>}
        </main>
      </div>
    </div>
  );
}

function Side({ path }: { path: string }) {
  const { overview } = useLive();
  const [isOpen, setOpen] = useState(false);
  const problems = overview?.status.problems.length ?? 0;
  const link = (route: Route, label: string) => {
    const to = pathOf(route);
    const isHere = path === to || (to !== '/' && path.startsWith(`${to}/`));
    return (
      <a href={linkTo(to)} aria-current={isHere ? 'page' : undefined} onClick={() => setOpen(false)}>
        {label}
      </a>
    );
  };
  return (
    <nav class={`side${isOpen ? ' open' : ''}`} aria-label="Page">
      <div class="brand">
        <a href={linkTo('/')}>market-mirror</a>
        <button type="button" class="unfold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Menu
        </button>
      </div>
      <ul class="views">
        <li>{link({ view: 'overview' }, 'Overview')}</li>
        <li>
          <span class="group" id="datasets-group">
            Datasets
          </span>
          <ul aria-labelledby="datasets-group">
            {overview?.status.datasets.map((dataset) => (
              <li key={dataset.job}>
                {link({ view: 'dataset', job: dataset.job }, dataset.job)}
                <Standing dataset={dataset} />
              </li>
            ))}
          </ul>
        </li>
        <li>{link({ view: 'walks' }, 'Walks')}</li>
        <li>{link({ view: 'calls' }, 'Calls')}</li>
        <li>
          {link({ view: 'problems' }, 'Problems')}
          {problems > 0 && <span class="tag warn">{problems}</span>}
        </li>
        <li>{link({ view: 'sql' }, 'SQL')}</li>
      </ul>
      <Switches />
    </nav>
  );
}

function Standing({ dataset: { fresh, verdict } }: { dataset: DatasetStatus }) {
  if (!fresh) return <span class="tag bad">{verdict === null ? 'never' : 'stale'}</span>;
  const outcome = verdict ?? 'none';
  return (
    <span title={outcomes[outcome].label}>
      <Sign outcome={outcome} />
      <span class="unseen">{outcomes[outcome].label}</span>
    </span>
  );
}

/** To where it is said how the page opens again. */
async function leave(): Promise<void> {
  await signOut();
  location.assign('/');
}

const themes = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;
const zones = [
  ['utc', 'UTC'],
  ['local', 'Local time'],
] as const;

function Switches() {
  const { theme, zone } = usePreferences();
  const { overview } = useLive();
  return (
    <div class="switches">
      <label>
        Times <Select value={zone} options={zones} choose={(next) => prefer({ zone: next })} />
      </label>
      <label>
        Colours <Select value={theme} options={themes} choose={(next) => prefer({ theme: next })} />
      </label>
      {overview?.access === 'token' && (
        <button type="button" onClick={leave}>
          Sign out
        </button>
      )}
      {overview && <p class="version">market-mirror {overview.version}</p>}
    </div>
  );
}
