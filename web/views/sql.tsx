/** Asking in SQL: an editor, its parameters, and the answer as table and chart. The address holds what was run. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Schema } from '../../src/serve/page/wire.ts';
import { useSchema } from '../ask.ts';
import { localNow } from '../clock.ts';
import type { Editor } from '../editor.ts';
import { count, number } from '../formats.ts';
import { Heading } from '../parts/heading.tsx';
import { notLoaded } from '../parts/late.tsx';
import { Select } from '../parts/select.tsx';
import { Failed, Loading } from '../parts/states.tsx';
import type { Sql } from '../question.ts';
import { go, linkToSql, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { useMedia } from '../store.ts';
import { AnswerOf } from './sql/answer.tsx';
import { Examples, Tables, withoutParams } from './sql/library.tsx';
import { linkedQuery, parametersOf, paramsOf, type Typed, typedOf, typedValue } from './sql/parameters.ts';
import { AsReport } from './sql/report.tsx';
import { type Run, useRunner } from './sql/run.ts';

/** How fresh the mirror is; as of an earlier time, what had been proven by then. */
const FIRST = `SELECT job, rows, verdict, complete_as_of, status
FROM freshness`;
const FIRST_OF_THEN = `SELECT job, rows, verdict, max(started_at) AS complete_as_of
FROM walks
WHERE status = 'complete' AND verdict IN ('snapshot', 'verified')
GROUP BY job`;
const FIRST_LIMIT = 1_000;
const LIMITS = [FIRST_LIMIT, 10_000, 100_000];

type Draft = { text: string; typed: Typed };

/** What was being written when the view was left. */
let left: Draft | null = null;

export const SqlView: ViewOf<'sql'> = () => {
  const { hash, at } = usePageAddress();
  const schema = useSchema();
  const linked = linkedQuery(hash);
  const isChart = hash.get('show') === 'chart';
  const first = withoutParams(at === null ? FIRST : FIRST_OF_THEN);
  const [draft, setDraft] = useState(() => (linked ? draftOf(linked) : (left ?? draftOf(first))));
  const [version, setVersion] = useState(0);
  const [limit, setLimit] = useState(FIRST_LIMIT);
  const isWide = useMedia('(min-width: 1100px)');
  const { run, start, stop } = useRunner();
  // The answer before stays until the next one is there.
  const ended = useRef<Run | null>(null);
  if (run?.end) ended.current = run;
  const shown = ended.current;
  const asked = useRef<{ query: Sql; key: string } | null>(null);
  const tables = schema.value?.tables ?? [];

  // Keys come faster than the view is drawn, and the latest text is run.
  const latest = useRef(draft);
  const edit = (changes: Partial<Draft>) => {
    latest.current = { ...latest.current, ...changes };
    setDraft(latest.current);
    left = latest.current;
  };
  const open = (query: Sql) => {
    edit(draftOf(query));
    setVersion((before) => before + 1);
  };
  const answer = (question: Sql) => {
    asked.current = { query: question, key: keyOf(question, at) };
    void start(question, at, limit);
  };
  const runQuery = (question: Sql, drawn = isChart) => {
    answer(question);
    if (linked === null || keyOf(question, null) !== keyOf(linked, null))
      go(linkToSql(question, undefined, drawn));
  };
  const runDraft = () => runQuery(questionOf(latest.current));
  useEffect(() => {
    if (linked === null && [FIRST, FIRST_OF_THEN].includes(latest.current.text)) open(first);
  }, [first.sql]);

  // A link to a query, going back to one and another moment run it; where there is none, the first one is run.
  const wanted = linked ?? (left === null || left.text === first.sql ? first : asked.current?.query) ?? null;
  const key = wanted && keyOf(wanted, at);
  useEffect(() => {
    const before = asked.current;
    if (wanted === null || key === null || key === before?.key) return;
    asked.current = { query: wanted, key };
    // Another moment is not another query: what is being typed stays.
    if (before === null || keyOf(wanted, null) !== keyOf(before.query, null)) open(wanted);
    // Missing values are typed first.
    if (parametersOf(wanted.sql).every((name) => name in wanted.params)) answer(wanted);
  }, [key]);

  /** What one draws across fills the parameters `:from` and `:until`, where the query has them. */
  const brush =
    shown && 'from' in shown.question.params && 'until' in shown.question.params
      ? (from: number, until: number) => {
          const [begin, end] = [from, until].map((ms) => new Date(ms).toISOString()) as [string, string];
          const question = {
            sql: shown.question.sql,
            params: { ...shown.question.params, from: begin, until: end },
          };
          open(question);
          runQuery(question, true);
        }
      : undefined;

  return (
    <>
      <Heading title="SQL" />
      <div class="sql">
        <div class="stack">
          <SqlInput
            text={draft.text}
            version={version}
            tables={tables}
            changed={(text) => edit({ text })}
            run={runDraft}
          />
          <Parameters
            sql={draft.text}
            typed={draft.typed}
            changed={(typed) => edit({ typed })}
            run={runDraft}
          />
          <RunBar run={run} limit={limit} choose={setLimit} start={runDraft} stop={stop}>
            <AsReport sql={draft.text} />
          </RunBar>
          {shown && (
            <AnswerOf
              run={shown}
              isOld={shown !== run}
              isChart={isChart}
              choose={(drawn) => go(linkToSql(shown.question, undefined, drawn), 'replace')}
              brush={brush}
            />
          )}
        </div>
        <details class="pane" open={isWide || shown === null}>
          <summary>Examples and tables</summary>
          <div class="stack">
            <Examples tables={tables} isPast={at !== null} open={open} />
            <Tables tables={tables} open={open} />
          </div>
        </details>
      </div>
    </>
  );
};

const draftOf = ({ sql, params }: Sql): Draft => ({
  text: sql,
  typed: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, typedOf(value)])),
});
const questionOf = ({ text, typed }: Draft): Sql => ({ sql: text, params: paramsOf(text, typed) });
const keyOf = ({ sql, params }: Sql, at: string | null) => JSON.stringify([sql, params, at]);

type Props = {
  run: Run | null;
  limit: number;
  choose(limit: number): void;
  start(): void;
  stop(): void;
  children: ComponentChildren;
};

/** Starts a query, ends it, and shows how far it is. */
function RunBar({ run, limit, choose, start, stop, children }: Props) {
  const isRunning = run !== null && run.end === null;
  return (
    <div class="run-bar tools">
      {/* One button for both, so that the focus stays where it is. */}
      <button type="button" class={isRunning ? '' : 'main'} onClick={isRunning ? stop : start}>
        {isRunning ? 'Cancel' : 'Run'}
      </button>
      <span class="note keys">Ctrl-Enter, or ⌘-Enter</span>
      <label>
        At most{' '}
        <Select
          value={limit}
          options={LIMITS.map((each) => [each, `${number(each)} rows`] as const)}
          choose={choose}
        />
      </label>
      {children}
      {isRunning && <Progress run={run} />}
      <span class="unseen" role="status">
        {isRunning ? 'The query runs' : run?.end ? `${endOf(run)}` : ''}
      </span>
    </div>
  );
}

function Progress({ run }: { run: Run }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick(localNow()), 100);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, localNow() - run.begunAt) / 1_000;
  return (
    <span class="pair">
      <span class="dot running" aria-hidden="true" />{' '}
      {run.opened ? `${count(run.count, 'row')} so far` : 'running'}
      {' · '}
      {seconds.toFixed(1)} s
    </span>
  );
}

const endOf = ({ end, count: rows }: Run) =>
  end?.problem ? `It failed: ${end.problem.message}` : count(rows, 'row');

type InputProps = {
  text: string;
  /** Grows where the text comes from elsewhere: the editor's own text is newer than `text`. */
  version: number;
  tables: Schema['tables'];
  changed(text: string): void;
  run(): void;
};

/** The editor, which is loaded with the first view of SQL. */
function SqlInput(props: InputProps) {
  const { version, tables } = props;
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [state, setState] = useState<'loading' | 'open' | 'missing'>('loading');

  useEffect(() => {
    let isCurrent = true;
    import('../editor.ts').then(
      ({ openEditor }) => {
        if (!isCurrent || !place.current) return;
        editor.current = openEditor(place.current, {
          label: 'SQL',
          text: latest.current.text,
          tables: latest.current.tables,
          changed: (next) => latest.current.changed(next),
          run: () => latest.current.run(),
        });
        setState('open');
      },
      () => setState('missing'),
    );
    return () => {
      isCurrent = false;
      editor.current?.close();
      editor.current = null;
    };
  }, []);
  useEffect(() => editor.current?.setText(latest.current.text), [version]);
  useEffect(() => editor.current?.setSchema(tables), [tables]);

  return (
    <>
      <div class="sql-input" ref={place} />
      {state === 'loading' && <Loading what="Loading the editor" />}
      {state === 'missing' && <Failed problem={notLoaded} again={() => location.reload()} />}
    </>
  );
}

type ParametersFormProps = { sql: string; typed: Typed; changed(typed: Typed): void; run(): void };

/** A field for each parameter of the query. */
function Parameters({ sql, typed, changed, run }: ParametersFormProps) {
  const names = parametersOf(sql);
  if (names.length === 0) return null;
  return (
    <form
      class="tools"
      aria-label="Parameters"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      {names.map((name) => (
        <label key={name} class="pair">
          <code>:{name}</code>{' '}
          <input
            value={typed[name] ?? ''}
            onInput={(event) => changed({ ...typed, [name]: event.currentTarget.value })}
          />
          <span class="note">{meaningOf(typedValue(typed[name] ?? ''))}</span>
        </label>
      ))}
      {/* Enter in a field runs the query. */}
      <button type="submit" class="unseen" tabIndex={-1}>
        Run
      </button>
    </form>
  );
}

const meaningOf = (value: string | number | null) =>
  value === null ? 'null' : typeof value === 'number' ? 'number' : value === '' ? 'empty text' : 'text';
