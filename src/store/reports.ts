/** What is known of reports: their last runs, the rows that alerts have told of, and the messages that are to be sent. */

import { DAY_MS, isoTime } from '../base/clock.ts';
import type { FailureKind } from '../base/errors.ts';
import type { Connection } from './connection.ts';
import { believedTime } from './prune.ts';
import type { ReportMessage, ReportRow } from './schema.ts';

/** A row that left the result may come back for so long without being told of again. */
const KEY_KEPT_MS = 90 * DAY_MS;
/** A message is given up after so long, and a message that was sent or given up is forgotten. */
const MESSAGE_KEPT_MS = 3 * DAY_MS;
/** One that was not tried so often has not waited so long: the clock was wrong, or nobody was there. */
const LEAST_TRIES = 100;

/** SQL for the messages that are to be sent, and for those of them that go to the webhook. */
const UNSENT = 'sent_at IS NULL AND given_up_at IS NULL';
const OF_WEBHOOK = `receiver = 'webhook' AND ${UNSENT}`;

/** SQL for the failures in a row with this one: an edited file begins anew. */
const ONE_MORE = 'iif(sql = :sql, failures, 0) + 1';

/** A report as its file says it now. */
export type KnownReport = Pick<ReportRow, 'name' | 'title' | 'sql' | 'mistake'>;

/** What a run came to. */
export type FinishedRun = {
  report: string;
  sql: string;
  reads: readonly string[];
  seq: number;
  ranAt: number;
  durationMs: number;
  rows: number;
  newRows: number;
  /** Whether it was begun as an alert. */
  isAlert: boolean;
  receipt: unknown;
  /** What went wrong though it came to its end. */
  error: string | null;
  message: Pick<ReportMessage, 'id' | 'receiver' | 'body'> | null;
};

/** @param now epoch milliseconds. */
export function openReportState(connection: Connection, now: () => number) {
  const run = (sql: string, values: Record<string, unknown>) => connection.prepare(sql).run(values);
  const inTransaction = (work: () => void) => connection.transaction(work).immediate();
  const read = (columns: string) =>
    connection.prepare<[], ReportRow>(`SELECT ${columns} FROM _reports ORDER BY name`);
  const everything = read(
    `name, title, sql, "reads", seq, ran_at AS ranAt, duration_ms AS durationMs, "rows", new_rows AS newRows, waits, mistake, error,
     error_kind AS errorKind, failures, receipt`,
  );
  const anyUnsent = connection.prepare(`SELECT 1 FROM _report_messages WHERE ${UNSENT} LIMIT 1`);
  const all = () =>
    everything.all().map((row) => ({ ...row, reads: JSON.parse(String(row.reads)) as string[] }));

  /** The rows of the results that are being read lie in a table of this connection. */
  const prepareMeeting = () => {
    connection.exec(
      'CREATE TEMP TABLE IF NOT EXISTS met (report TEXT, key TEXT, PRIMARY KEY (report, key)) WITHOUT ROWID',
    );
    const meet = connection.prepare<[string, string]>('INSERT OR IGNORE INTO temp.met VALUES (?, ?)');
    const isTold = connection.prepare('SELECT 1 FROM _report_keys WHERE report = ? AND key = ?');
    return connection.transaction((report: string, keys: readonly string[]) =>
      keys.map((key) => meet.run(report, key).changes > 0 && !isTold.get(report, key)),
    );
  };
  let meeting: ReturnType<typeof prepareMeeting> | undefined;

  function keepKeys({ report }: FinishedRun, at: string): void {
    const met = 'SELECT key FROM temp.met WHERE report = :report';
    run(
      `UPDATE _report_keys SET left_at = iif(key IN (${met}), NULL, coalesce(left_at, :at))
       WHERE report = :report AND (left_at IS NULL) <> (key IN (${met}))`,
      { report, at },
    );
    run(`INSERT OR IGNORE INTO _report_keys (report, key, at) SELECT :report, key, :at FROM (${met})`, {
      report,
      at,
    });
    run('DELETE FROM temp.met WHERE report = :report', { report });
  }

  function forget(): void {
    run('DELETE FROM _report_messages WHERE coalesce(sent_at, given_up_at) < :horizon', {
      horizon: isoTime(now() - MESSAGE_KEPT_MS),
    });
    const believed = believedTime(connection, now());
    if (believed !== undefined)
      run('DELETE FROM _report_keys WHERE left_at < :horizon', { horizon: isoTime(believed - KEY_KEPT_MS) });
  }

  return {
    all,
    /** `seq` of the latest change of each dataset that ever changed, by job. */
    latestChanges: (): ReadonlyMap<string, number> =>
      new Map(
        connection
          .prepare<[], [string, number]>('SELECT job, last_seq FROM _datasets WHERE last_seq IS NOT NULL')
          .raw()
          .all(),
      ),
    /** Notes which reports there are. Writes nothing where that is known. */
    follow(found: readonly KnownReport[]): void {
      const known = new Map(all().map((row) => [row.name, row]));
      const isNew = ({ name, title, mistake }: KnownReport) => {
        const row = known.get(name);
        return row?.title !== title || row.mistake !== mistake;
      };
      const gone = [...known.keys()].filter((name) => !found.some((report) => report.name === name));
      const changed = found.filter(isNew);
      if (changed.length === 0 && gone.length === 0) return;
      inTransaction(() => {
        for (const report of changed)
          run(
            `INSERT INTO _reports (name, title, sql, mistake) VALUES (:name, :title, :sql, :mistake)
             ON CONFLICT DO UPDATE SET title = excluded.title, mistake = excluded.mistake`,
            report,
          );
        for (const report of gone) {
          run('DELETE FROM _reports WHERE name = :report', { report });
          run('UPDATE _report_keys SET left_at = coalesce(left_at, :at) WHERE report = :report', {
            report,
            at: isoTime(now()),
          });
        }
      });
    },
    /** Begins a run of an alert. @returns what takes the keys of its result in batches, and says which are to be told of. */
    beginAlert(report: string): (keys: readonly string[]) => boolean[] {
      meeting ??= prepareMeeting();
      const meet = meeting;
      run('DELETE FROM temp.met WHERE report = :report', { report });
      return (keys) => meet(report, keys);
    },
    /** Writes what a run came to, with its keys and its message. */
    finish(done: FinishedRun): void {
      const ranAt = isoTime(done.ranAt);
      inTransaction(() => {
        run(
          `UPDATE _reports SET sql = :sql, "reads" = :reads, seq = :seq, ran_at = :ranAt, duration_ms = :durationMs, "rows" = :rows,
             new_rows = :newRows, waits = NULL, error = :error, error_kind = iif(:error IS NULL, NULL, 'config'),
             failures = iif(:error IS NULL, 0, ${ONE_MORE}), receipt = :receipt
           WHERE name = :report`,
          {
            report: done.report,
            sql: done.sql,
            reads: JSON.stringify(done.reads),
            seq: done.seq,
            ranAt,
            durationMs: Math.round(done.durationMs),
            rows: done.rows,
            newRows: done.newRows,
            error: done.error,
            receipt: JSON.stringify(done.receipt),
          },
        );
        if (done.isAlert) keepKeys(done, ranAt);
        if (done.message)
          run(
            // While the webhook is down, they wait together.
            `INSERT OR IGNORE INTO _report_messages (id, report, at, receiver, body, next_try_at)
             VALUES (:id, :report, :at, :receiver, :body,
               iif(:receiver = 'webhook', (SELECT max(next_try_at) FROM _report_messages WHERE failures > 0 AND ${OF_WEBHOOK}), NULL))`,
            { ...done.message, report: done.report, at: ranAt },
          );
        forget();
      });
    },
    /** Notes that a report waits for a proof. @param reads the jobs whose datasets it reads. */
    wait(report: string, sql: string, reads: readonly string[], why: string): void {
      run(
        `UPDATE _reports SET sql = :sql, "reads" = :reads, waits = :why, failures = iif(sql = :sql, failures, 0) WHERE name = :report`,
        { report, sql, why, reads: JSON.stringify(reads) },
      );
    },
    /** Notes that a run failed. It is due again with the next change, or after a pause. */
    fail(report: string, sql: string, ranAt: number, failure: { kind: FailureKind; message: string }): void {
      run(
        `UPDATE _reports SET sql = :sql, ran_at = :ranAt, waits = NULL, error = :message, error_kind = :kind, failures = ${ONE_MORE},
           seq = (SELECT max(last_seq) FROM _datasets) WHERE name = :report`,
        { report, sql, ranAt: isoTime(ranAt), kind: failure.kind, message: failure.message },
      );
    },
    /**
     * The messages that are to be sent, the oldest first; without their bodies, of which there may be days.
     * @param longestPauseMs a message that waits longer was put off by a clock that was ahead.
     */
    unsent: (longestPauseMs: number) =>
      connection
        .prepare<[{ now: string; far: string }], Pick<ReportMessage, 'id' | 'report' | 'receiver'>>(
          `SELECT id, report, receiver FROM _report_messages
           WHERE ${UNSENT} AND (next_try_at IS NULL OR next_try_at <= :now OR next_try_at > :far) ORDER BY at, rowid`,
        )
        .all({ now: isoTime(now()), far: isoTime(now() + longestPauseMs) }),
    /** Undefined where it was sent meanwhile. */
    messageToSend: (id: string): ReportMessage | undefined =>
      connection
        .prepare<[string], ReportMessage>(
          `SELECT id, report, at, receiver, body, failures, error, next_try_at AS nextTryAt FROM _report_messages
           WHERE id = ? AND ${UNSENT}`,
        )
        .get(id),
    hasUnsent: (): boolean => anyUnsent.get() !== undefined,
    /** Notes that a message has arrived, so that others may go to the same receiver at once. */
    sent({ id, receiver }: ReportMessage): void {
      inTransaction(() => {
        run('UPDATE _report_messages SET sent_at = :at, error = NULL, next_try_at = NULL WHERE id = :id', {
          id,
          at: isoTime(now()),
        });
        if (receiver === 'webhook')
          run(
            `UPDATE _report_messages SET next_try_at = NULL WHERE next_try_at IS NOT NULL AND ${OF_WEBHOOK}`,
            {},
          );
      });
    },
    /**
     * Notes that a message could not be sent. One that has waited too long is given up.
     * @param isOfAll whether the same holds for all messages to the webhook.
     */
    notSent({ id }: ReportMessage, error: string, pauseMs: number, isOfAll: boolean): void {
      run(
        `UPDATE _report_messages SET failures = failures + 1, error = :error, next_try_at = :nextTryAt,
           given_up_at = iif(at < :horizon AND failures >= ${LEAST_TRIES}, :at, NULL)
         WHERE id = :id OR (:isOfAll AND ${OF_WEBHOOK})`,
        {
          ...{ id, error, isOfAll: Number(isOfAll) },
          at: isoTime(now()),
          nextTryAt: isoTime(now() + pauseMs),
          horizon: isoTime(now() - MESSAGE_KEPT_MS),
        },
      );
    },
  };
}

export type ReportState = ReturnType<typeof openReportState>;

/** In a copy that takes the mirror's place: what was to be sent then is old, and may have been sent. */
export function dropUnsent(copy: Connection): void {
  copy.exec(`DELETE FROM _report_messages WHERE ${UNSENT}`);
}
