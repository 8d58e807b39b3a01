/** Asking in SQL: an editor, its parameters, the answer as table and chart, and what was asked before. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { useSchema } from '../asking.ts';
import { serviceNow } from '../clock.ts';
import { Heading } from '../parts/heading.tsx';
import { go, linkTo, linkToSql, usePlace } from '../router.ts';
import type { Sql } from '../sql.ts';
import { AnswerOf } from './sql/answer.tsx';
import { Examples, Tables } from './sql/beginnings.tsx';
import { type Past, withoutQuery, withQuery } from './sql/history.ts';
import { History } from './sql/history-list.tsx';
import { SqlInput } from './sql/input.tsx';
import { askedIn, draftOf, keepDraft, keepPast, keptDraft, keptPast, MOST_IN_ADDRESS } from './sql/kept.ts';
import { parametersOf, paramsOf } from './sql/parameters.ts';
import { Parameters } from './sql/parameters-form.tsx';
import { type Run, useRunner } from './sql/run.ts';
import { RunBar } from './sql/run-bar.tsx';
import type { ViewOf } from './view.ts';

const FIRST = `SELECT job, rows, verdict, complete_as_of, status
FROM freshness`;
const LIMITS = [1_000, 10_000, 100_000] as const;

export const SqlView: ViewOf<'sql'> = () => {
  const { hash, at } = usePlace();
  const schema = useSchema();
  const linked = askedIn(hash);
  const [draft, setDraft] = useState(() => (linked ? draftOf(linked) : keptDraft()) ?? draftOf(fresh(FIRST)));
  const [version, setVersion] = useState(0);
  const [limit, setLimit] = useState<number>(LIMITS[0]);
  const [past, setPast] = useState(keptPast);
  const { run, start, stop } = useRunner();
  // The answer before stays until the next one is there.
  const ended = useRef<Run | null>(null);
  if (run?.end) ended.current = run;
  const shown = ended.current;
  const asked = useRef('');
  const tables = schema.value?.tables ?? [];

  // Keys come faster than the view is drawn, and the query that is run is the one that was written last.
  const latest = useRef(draft);
  const edit = (changes: Partial<typeof draft>) => {
    latest.current = { ...latest.current, ...changes };
    setDraft(latest.current);
    keepDraft(latest.current);
  };
  const open = (query: Sql) => {
    edit(draftOf(query));
    setVersion((before) => before + 1);
  };
  const keep = (next: Past[]) => {
    setPast(next);
    keepPast(next);
  };
  async function answer(question: Sql): Promise<void> {
    asked.current = keyOf(question, at);
    const done = await start(question, at, limit);
    if (done.end?.trouble?.kind === 'stopped' && done.count === 0) return;
    keep(
      withQuery(keptPast(), {
        ...question,
        ranAt: new Date(serviceNow()).toISOString(),
        rows: rowsOf(done),
      }),
    );
  }
  function runDraft(): void {
    const { text, typed } = latest.current;
    const question = { sql: text, params: paramsOf(text, typed) };
    const isAgain = linked !== null && keyOf(question, at) === keyOf(linked, at);
    void answer(question);
    if (isAgain) return;
    const address = linkToSql(question);
    go(address.length <= MOST_IN_ADDRESS ? address : linkTo('/sql'));
  }

  // Who follows a link to a query, goes back to one or chooses another moment wants its answer.
  const key = linked && keyOf(linked, at);
  useEffect(() => {
    if (linked === null || key === asked.current) return;
    open(linked);
    // What has no value yet is typed first.
    if (parametersOf(linked.sql).every((name) => name in linked.params)) void answer(linked);
  }, [key]);

  return (
    <>
      <Heading title="SQL">
        <div class="tools">
          <Tables tables={tables} open={(sql) => open(fresh(sql))} />
          <Examples tables={tables} open={(sql) => open(fresh(sql))} />
        </div>
      </Heading>
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
        <RunBar run={run} limit={limit} limits={LIMITS} choose={setLimit} start={runDraft} stop={stop} />
      </div>
      {shown && <AnswerOf run={shown} isOld={shown !== run} />}
      <History past={past} open={open} forget={(query) => keep(query ? withoutQuery(past, query) : [])} />
    </>
  );
};

const fresh = (sql: string): Sql => ({ sql, params: {} });
const keyOf = ({ sql, params }: Sql, at: string | null) => JSON.stringify([sql, params, at]);
const rowsOf = ({ end, count }: Run) => (end?.trouble ? null : count);
