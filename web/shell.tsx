/** The frame of every view: where one may go, which moment is shown, and whether what is shown is current. */

import type { ComponentChildren, FunctionComponent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { DatasetStatus } from '../src/serve/page/wire.ts';
import { sentence } from './formats.ts';
import { useLive } from './live.ts';
import { Late } from './parts/late.tsx';
import { closeMenu, useMenus } from './parts/menus.tsx';
import { problemsOf } from './parts/problems.tsx';
import { NamedSign, StateBadge } from './parts/proof.tsx';
import { Select } from './parts/select.tsx';
import { Empty } from './parts/states.tsx';
import { Ago, Time } from './parts/time.tsx';
import { prefer, usePreferences } from './preferences.ts';
import { linkHere, linkTo, usePageAddress } from './router.ts';
import { pathOf, type Route, type ViewName, type ViewOf } from './routes.ts';
import { signOut } from './service.ts';
import { Overview } from './views/overview.tsx';

export function Shell() {
  useMenus();
  const { route, path, at, wrongTime } = usePageAddress();
  return (
    <div class={`shell${at === null ? '' : ' past'}`}>
      <a class="skip button" href="#content">
        To the content
      </a>
      <Side path={path} />
      <div class="body">
        <header class="bar-top">
          <Moment />
          <div class="tools">
            <Connection />
            <Help />
          </div>
        </header>
        <main id="content" tabIndex={-1}>
          {wrongTime !== null && (
            <Empty title="No such time">
              {sentence(wrongTime.problem)}{' '}
              <a href={linkHere({ [wrongTime.name]: null })}>
                {wrongTime.name === 'at' ? 'Show now' : `Leave out “${wrongTime.name}”`}
              </a>
            </Empty>
          )}
          {wrongTime === null && route && <View key={path} route={route} />}
          {wrongTime === null && !route && (
            <Empty title="Nothing here">
              There is nothing at this address. <a href={linkTo('/')}>Overview</a>
            </Empty>
          )}
        </main>
      </div>
    </div>
  );
}

function Side({ path }: { path: string }) {
  const { overview } = useLive();
  const { at } = usePageAddress();
  const [isOpen, setOpen] = useState(false);
  // The menu lies above the content, where one who has read on would not see it.
  const unfold = () => {
    if (!isOpen) scrollTo(0, 0);
    setOpen(!isOpen);
  };
  const problems = overview ? problemsOf(overview).length : 0;
  const link = (route: Route, label: string, badge?: ComponentChildren) => {
    const to = pathOf(route);
    const isHere = path === to || (to !== '/' && path.startsWith(`${to}/`));
    return (
      <li key={to}>
        <a href={linkTo(to)} aria-current={isHere ? 'page' : undefined} onClick={() => setOpen(false)}>
          <span>{label}</span>
          {/* They are those of now. */}
          {at === null && badge}
        </a>
      </li>
    );
  };
  return (
    <nav class={`side${isOpen ? ' open' : ''}`} aria-label="Page">
      <div class="brand">
        <a href={linkTo('/')}>market-mirror</a>
        <button type="button" class="unfold" aria-expanded={isOpen} onClick={unfold}>
          Menu
        </button>
      </div>
      <ul class="views">
        {link({ view: 'overview' }, 'Overview')}
        {link({ view: 'changes' }, 'Changes')}
        {link({ view: 'problems' }, 'Problems', problems > 0 && <span class="tag warn">{problems}</span>)}
        {link({ view: 'sql' }, 'SQL')}
        {link({ view: 'reports' }, 'Reports')}
        <li>
          <span class="note" id="datasets-group">
            Datasets
          </span>
          <ul aria-labelledby="datasets-group">
            {overview?.status.datasets.map((dataset) =>
              link({ view: 'dataset', job: dataset.job }, dataset.job, <DatasetBadge dataset={dataset} />),
            )}
          </ul>
        </li>
        <li>
          <span class="note" id="reading-group">
            How it is read
          </span>
          <ul aria-labelledby="reading-group">
            {link({ view: 'walks' }, 'Walks')}
            {link({ view: 'calls' }, 'Calls')}
            {link({ view: 'quota' }, 'Quota')}
          </ul>
        </li>
      </ul>
      <Switches />
    </nav>
  );
}

/** A fresh dataset shows its verdict alone. */
function DatasetBadge({ dataset }: { dataset: DatasetStatus }) {
  if (!dataset.fresh) return <StateBadge dataset={dataset} />;
  return <NamedSign outcome={dataset.verdict ?? 'none'} />;
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
    <div class="note switches">
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

const words = {
  connecting: 'connecting',
  live: 'connected',
  away: 'service away',
  unread: 'no mirror to read',
  login: 'not signed in',
} as const;

const tones: Readonly<Partial<Record<keyof typeof words, string>>> = {
  away: 'bad',
  unread: 'bad',
  login: 'bad',
};

/** Whether the page is current: a word always, and a sentence where there is more to know. */
function Connection() {
  const { connection, overview, problem } = useLive();
  const isOld = overview !== null && ['away', 'unread'].includes(connection);
  return (
    <div class={`connection tools toned ${connection} ${tones[connection] ?? ''}`}>
      <div class="tools" role="status">
        <span class="word pair">
          <span class="dot" aria-hidden="true" /> {words[connection]}
        </span>
        {connection === 'live' && overview?.status.daemon === null && <span class="tag warn">no daemon</span>}
        {connection === 'away' && <p>The service went away; trying again.</p>}
        {connection === 'unread' && <p>The service cannot read the mirror; trying again.</p>}
        {connection === 'login' && (
          <p>
            {problem?.message}. <code>market-mirror keys page</code> prints a new link.{' '}
            <a href="/" target="_self">
              Sign in
            </a>
          </p>
        )}
      </div>
      {/* Outside of what is read out when it changes: this changes each second. */}
      {isOld && (
        <p>
          What is shown is of <Ago at={overview.at} />.
        </p>
      )}
    </div>
  );
}

type Load<Name extends ViewName> = () => Promise<ViewOf<Name>>;

/** The overview is there at once; the other views are loaded when they are opened. */
const late: { [Name in Exclude<ViewName, 'overview'>]: Load<Name> } = {
  dataset: async () => (await import('./views/dataset.tsx')).DatasetView,
  row: async () => (await import('./views/row.tsx')).RowView,
  changes: async () => (await import('./views/changes.tsx')).ChangesView,
  walks: async () => (await import('./views/walks.tsx')).WalksView,
  walk: async () => (await import('./views/walk.tsx')).WalkView,
  calls: async () => (await import('./views/calls.tsx')).CallsView,
  problems: async () => (await import('./views/problems.tsx')).ProblemsView,
  quota: async () => (await import('./views/quota.tsx')).QuotaView,
  sql: async () => (await import('./views/sql.tsx')).SqlView,
  reports: async () => (await import('./views/reports.tsx')).ReportsView,
};

function View({ route }: { route: Route }) {
  if (route.view === 'overview') return <Overview view="overview" />;
  // Each of them takes the route of its own name.
  const load = late[route.view] as () => Promise<FunctionComponent<Route>>;
  return <Late load={load} props={route} />;
}

const loadWords = async () => (await import('./parts/words.tsx')).Words;

function Help() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="help" aria-label="What the words mean" onClick={() => setOpen(true)}>
        ?
      </button>
      {isOpen && <Late load={loadWords} props={{ close: () => setOpen(false) }} />}
    </>
  );
}

const loadChoice = async () => (await import('./parts/moment-choice.tsx')).MomentChoice;

/** The moment that every view shows: now, or a time of the past. */
function Moment() {
  const { at } = usePageAddress();
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLDetailsElement>(null);
  return (
    <div class="moment tools">
      <details class="menu" ref={menu} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary class="button">
          <span class="unseen">Moment shown: </span>
          {at === null ? 'Now' : <span class="as-of">As of </span>}
          {at !== null && <Time at={at} />}
        </summary>
        {isOpen && <Late load={loadChoice} props={{ at, close: () => closeMenu(menu.current) }} />}
      </details>
      {at !== null && <a href={linkHere({ at: null })}>Back to now</a>}
    </div>
  );
}
