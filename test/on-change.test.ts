import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Change, onChange, type Timing } from '../src/app/on-change.ts';
import { systemClock } from '../src/base/clock.ts';
import { isLock, tryLock } from '../src/store.ts';
import { temporaryFolder } from './helpers/folder.ts';
import { isAlive } from './queue/setup.ts';

const change: Change = {
  job: 'news',
  table: 'news',
  walkId: 7,
  verdict: 'verified',
  completeAsOf: '2026-11-21T12:00:00.000Z',
  inserted: 3,
  updated: 2,
  deleted: 1,
  firstSeq: 100,
  lastSeq: 110,
};
const later: Change = { ...change, walkId: 8, inserted: 1, firstSeq: 120, lastSeq: 130 };
const latest: Change = { ...change, walkId: 9, inserted: 5, firstSeq: 140, lastSeq: 150 };

type Said = [level: string, job: string, text: string];

function setup(command: string, timing: Partial<Timing> = {}) {
  const dir = temporaryFolder();
  const said: Said[] = [];
  const open = () => {
    const opened = onChange({
      command: `cd '${dir}'; ${command}`,
      environment: { PATH: process.env['PATH'], MIRROR_DIR: dir, MIRROR_ON_CHANGE: '' },
      say: (...line) => void said.push(line),
      hold(job) {
        const lock = tryLock(dir, `on-change-${job}`);
        return isLock(lock) ? lock : undefined;
      },
      clock: systemClock,
      timing,
    });
    onTestFinished(() => opened.close());
    return opened;
  };
  const written = (name: string) => {
    const file = join(dir, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  };
  return { dir, said, open, written, ...open() };
}

describe('the command of MIRROR_ON_CHANGE', () => {
  it('is given the facts in its environment', async () => {
    const { start, idle, written, said, dir } = setup('env | grep -E "^(CHANGE|MIRROR)_" | sort > facts');
    start(change);
    await idle();
    expect(written('facts').trim().split('\n')).toEqual([
      'CHANGE_COMPLETE_AS_OF=2026-11-21T12:00:00.000Z',
      'CHANGE_DELETED=1',
      'CHANGE_FIRST_SEQ=100',
      'CHANGE_INSERTED=3',
      'CHANGE_JOB=news',
      'CHANGE_LAST_SEQ=110',
      'CHANGE_TABLE=news',
      'CHANGE_UPDATED=2',
      'CHANGE_VERDICT=verified',
      'CHANGE_WALK_ID=7',
      `MIRROR_DIR=${dir}`,
      'MIRROR_ON_CHANGE=',
    ]);
    expect(said).toEqual([]);
  });

  it('has its output logged, line by line, with what a terminal would obey written out', async () => {
    const { start, idle, said } = setup(`printf 'red \\033[31m\\nmark \\342\\200\\256 end'; echo two >&2`);
    start(change);
    await idle();
    expect(said.map(([level, job]) => [level, job])).toEqual(said.map(() => ['info', 'news']));
    expect(said.map(([, , text]) => text).sort()).toEqual(['mark \\u{202e} end', 'red \\u{1b}[31m', 'two']);
  });

  it('cannot flood the log, be it with lines or with one without an end', async () => {
    const { start, idle, said } = setup('seq 1000; head -c 300000 /dev/zero | tr "\\\\0" x >&2');
    start(change);
    await idle();
    expect(said).toHaveLength(101);
    expect(said.at(-1)?.[2]).toBe('and more, which is not logged');
    expect(Math.max(...said.map(([, , text]) => text.length))).toBeLessThan(600);
  });

  it('that takes too long is ended, with whatever it started', async () => {
    const { start, idle, said, written } = setup('(sleep 60 & echo $! > child; wait); echo on', {
      most: 1_000,
      grace: 300,
    });
    start(change);
    await idle();
    expect(said).toEqual([['warn', 'news', 'MIRROR_ON_CHANGE took longer than 1s and was ended']]);
    const child = Number(written('child'));
    await expect.poll(() => isAlive(child)).toBe(false);
  });

  it('never runs twice at once for one job: what changes meanwhile is one run more', async () => {
    const { start, idle, written, dir } = setup(`${logged}; ${untilGo}`);
    start(change);
    await expect.poll(() => written('log')).toContain('100 to 110, 3 new');
    start(later);
    start(latest);
    start({ ...latest, job: 'usage', firstSeq: 1 });
    await expect.poll(() => written('log')).toContain('1 to 150');
    expect(written('log')).not.toContain('120 to');
    writeFileSync(join(dir, 'go'), '');
    await idle();
    expect(written('log').trim().split('\n').at(-1)).toBe('120 to 150, 6 new');
  });

  it('never runs beside that of another process for the same job', async () => {
    const { start, idle, written, dir, open } = setup(`${logged}; ${untilGo}; echo end >> log`);
    const other = open();
    start(change);
    await expect.poll(() => written('log')).toContain('100 to');
    other.start(later);
    writeFileSync(join(dir, 'go'), '');
    await Promise.all([idle(), other.idle()]);
    expect(written('log')).toBe('100 to 110, 3 new\nend\n120 to 130, 1 new\nend\n');
  });

  it('is ended when the mirror stops, also one that does not want to, and nothing begins after', async () => {
    const { start, close, said, written } = setup('trap "" TERM; echo $$ > child; sleep 60; sleep 60', {
      grace: 100,
    });
    start(change);
    await expect.poll(() => written('child')).not.toBe('');
    start(later);
    await close();
    expect(isAlive(Number(written('child')))).toBe(false);
    start(latest);
    expect(said).toEqual([]);
  });
});

const logged = 'echo "$CHANGE_FIRST_SEQ to $CHANGE_LAST_SEQ, $CHANGE_INSERTED new" >> log';
const untilGo = 'until [ -e go ]; do sleep 0.02; done';
