import { describe, expect, onTestFinished, test } from 'vitest';
import type { Failure } from '../../src/base/errors.ts';
import {
  type Charge,
  isRefused,
  type Permit,
  type Refusal,
  refusal,
} from '../../src/serve/access/admission.ts';
import { openCounts } from '../../src/serve/access/counts.ts';
import { openServeDatabase } from '../../src/serve/access/database.ts';
import { newKey } from '../../src/serve/access/keys.ts';
import { nothingCounted, parseRate, takeCall, unlimited } from '../../src/serve/access/limits.ts';
import { collector, holdWriteLock, limitsOf, outcome, setupAdmission, setupKeys } from './support.ts';

const DAY = 86_400_000;
const unknown = refusal('key');

test('a key is refused with 401, whatever the reason, in the same words', () => {
  const { create, admission, identify, keyring, clock } = setupAdmission();
  const { key } = create({ addresses: null });
  const refuses = (authorization: string | undefined) =>
    expect([
      authorization,
      admission().identify({ authorization, address: '127.0.0.1', scope: null }),
    ]).toEqual([authorization, unknown]);
  for (const header of ['', `Basic ${key}`, key, `Bearer${key}`, `x Bearer ${key}`]) refuses(header);
  for (const wrong of [newKey(), key.slice(0, -1), `${key}x`, key.toUpperCase(), 'x'.repeat(1_000_000)])
    refuses(`Bearer ${wrong}`);
  refuses(undefined);
  refuses(`Bearer ${key} ${key}`);

  const [expiring, other, rotated] = [create({ expiresAt: clock.now() + DAY }), create(), create()];
  const overlapping = create();
  keyring.rotate(overlapping.record.id, DAY, undefined, clock.now());
  clock.advance(DAY - 1);
  for (const { key, record } of [expiring, other, rotated, overlapping])
    expect(identify(key)).toMatchObject({ id: record.id });
  clock.advance(1);
  keyring.revoke(other.record.id, clock.now());
  const next = keyring.rotate(rotated.record.id, 0, undefined, clock.now());
  for (const { key } of [expiring, other, rotated, overlapping]) expect(identify(key)).toEqual(unknown);
  expect(identify(next.key)).toMatchObject({ name: 'desk' });
});

test('403 without the scope, or from another address than those that are allowed; a key that is not valid is 401 from anywhere', () => {
  const { create, identify, keyring } = setupAdmission();
  const { key, record } = create({ scopes: ['news:read'], addresses: ['10.0.0.0/8', '2001:db8::7'] });
  const from = (address: string, scope = 'news:read') =>
    outcome(identify(key, { address, scope }) as Refusal);
  expect(identify(key, { address: '::ffff:10.1.2.3' })).toMatchObject({ name: 'desk' });
  expect(['192.0.2.1', '', '2001:db8::8'].map((address) => from(address))).toEqual([403, 403, 403]);
  expect(from('10.1.2.3', 'meme:read')).toBe(403);
  expect(identify(create({ scopes: [] }).key, { scope: null })).toMatchObject({ scopes: [] });
  keyring.revoke(record.id, 0);
  expect(identify(key, { address: '192.0.2.1', scope: 'meme:read' })).toEqual(unknown);
});

test('when a key was last used is written behind, and once a minute', () => {
  const { create, call, keyring, clock, write } = setupAdmission();
  const { key } = create();
  const lastUsed = () => {
    call(key);
    write();
    return keyring.list()[0]?.lastUsedAt?.slice(11, 19);
  };
  expect(lastUsed()).toBe('12:00:00');
  clock.advance(59_000);
  expect(lastUsed()).toBe('12:00:00');
  clock.advance(1_000);
  expect(lastUsed()).toBe('12:01:00');
});

describe('calls without a valid key', () => {
  const wrong = (admission: ReturnType<typeof setupAdmission>, times: number, address: string) =>
    Array.from({ length: times }, () => outcome(admission.identify(newKey(), { address }) as Refusal));

  test('are limited by address, and a valid key from there is none of them', () => {
    const setup = setupAdmission();
    const { key } = setup.create();
    const outcomes = wrong(setup, 400, '192.0.2.1');
    expect([outcomes[0], outcomes.at(-1)]).toEqual([401, 429]);
    expect(setup.identify(newKey(), { address: '192.0.2.1' })).toEqual(
      refusal('failures', 200, 'failures', { limit: 300, remaining: 0, periodMs: null, moreInMs: null }),
    );
    expect(setup.identify(key, { address: '192.0.2.1' })).toMatchObject({ name: 'desk' });
    expect(wrong(setup, 1, '192.0.2.2')).toEqual([401]);
    setup.clock.advance(1_000);
    expect(wrong(setup, 6, '192.0.2.1')).toEqual([401, 401, 401, 401, 401, 429]);
  });

  test('of one network of IPv6 are counted together', () => {
    const setup = setupAdmission();
    for (const network of ['2001:db8:0:1', '0:0:0:2'])
      for (let n = 0; n < 300; n += 1) wrong(setup, 1, `${network}::${n.toString(16)}`);
    const statuses = ['2001:db8::1:0:0:0:1', '::2:0:0:0:1', '2001:db8:0:2::1'].flatMap((address) =>
      wrong(setup, 1, address),
    );
    expect(statuses).toEqual([429, 429, 401]);
  });
});

describe('trouble with the database', () => {
  test('two processes do not grant the same twice: the second is told who serves', () => {
    const { dir } = setupAdmission();
    expect(() => setupAdmission(dir)).toThrow(
      expect.objectContaining({
        kind: 'incomplete',
        message: expect.stringContaining(`process ${process.pid} serves from there already`),
      }),
    );
  });

  test('another that writes for long: calls go on, and counts are written when it is done', () => {
    const { create, call, dir, told, write, restart } = setupAdmission();
    const { key } = create({}, limitsOf('5/1h'));
    call(key);
    const { connection, release } = holdWriteLock(dir);
    call(key);
    write();
    expect(told).toEqual([expect.objectContaining({ kind: 'incomplete' })]);
    expect(outcome(call(key))).toBe('2 left');
    write();
    expect(told).toHaveLength(1);
    release();
    write();
    expect(told).toEqual([expect.anything(), null]);
    restart();
    expect(outcome(call(key))).toBe('1 left');
    connection.close();
  });
});

test('a full disk is told once; what could not be written then is written when there is room', () => {
  const { dir, create } = setupKeys();
  const names = Array.from({ length: 300 }, (_, n) => create({ name: `account ${n}` }).record.account);
  const connection = openServeDatabase(dir);
  onTestFinished(() => void connection.close());
  const told: (Failure | null)[] = [];
  const { after, due } = collector();
  const written = openCounts(connection, { now: () => 0, after }, (trouble) => told.push(trouble));
  const aSecondLater = () => {
    for (const work of due.splice(0)) work();
  };
  const kept = () =>
    connection.prepare("SELECT count(*), sum(state ->> '$.quota.used') FROM counters").raw().get();

  // Until then, days to be forgotten are a reason to write again.
  written.flush();
  connection.pragma(`max_page_count = ${connection.pragma('page_count', { simple: true })}`);
  const limits = { ...unlimited, ...limitsOf('1000/1h') };
  const { state } = takeCall(nothingCounted, 1, limits, 0);
  for (const account of names) written.saveState(account, state, 1);
  aSecondLater();
  written.saveState('account 0', takeCall(state, 2, limits, 0).state, 2);
  aSecondLater();
  expect(told).toEqual([
    expect.objectContaining({ kind: 'disk', message: expect.stringContaining('the disk is full') }),
  ]);
  expect(kept(), 'all or nothing').toEqual([0, null]);

  connection.pragma('max_page_count = 1000000');
  aSecondLater();
  expect([told.length, told[1], kept()]).toEqual([2, null, [names.length, names.length + 1]]);
  expect(due, 'nothing more is due').toEqual([]);
});

describe('what an account may', () => {
  test('is shared by its keys, and by no other account', () => {
    const { create, call } = setupAdmission();
    const [one, other] = [create({}, limitsOf('3/1h')).key, create().key];
    const elsewhere = create({ name: 'elsewhere' }, limitsOf('3/1h')).key;
    const outcomes = [one, other, one, other].map((key) => outcome(call(key)));
    expect(outcomes).toEqual(['2 left', '1 left', '0 left', 429]);
    expect(outcome(call(elsewhere))).toBe('2 left');
  });

  test('is told in whole seconds, and with the limit that refused', () => {
    const { create, call, clock } = setupAdmission();
    const { key } = create({}, limitsOf('1/1h'));
    call(key);
    clock.advance(59 * 60_000 + 500);
    expect(call(key)).toMatchObject({
      ...refusal('quota', 59_500, 'quota'),
      retryAfter: 60,
      report: { limit: 1, remaining: 0 },
    });
  });

  test.each(['5/1h', '5/1h,refill'])('is told of a call that costs more than is left, too: %s', (quota) => {
    const { create, call, clock } = setupAdmission();
    const { key } = create({}, limitsOf(quota));
    (call(key) as Permit).takeMore(3);
    const costingThree = () => {
      const permit = call(key) as Permit;
      const more = permit.takeMore(2);
      if (isRefused(more)) permit.refund();
      return more;
    };
    const { retryAfter } = costingThree() as Refusal;
    clock.advance((Number(retryAfter) - 1) * 1_000);
    expect(outcome(costingThree() as Permit)).toBe(429);
    clock.advance(1_000);
    expect(outcome(costingThree() as Permit)).toMatch(/left$/);
  });

  // What is expected stands behind `=`: calls that are left, or a status. `give:0` gives the first call back, `more:3` takes three
  // more for the last one, `unmore:2` gives back two of these; `pass` and `jump` are seconds.
  test.each([
    [
      'a call that cost nothing is given back once',
      '2/1h',
      'call give:0=2 give:0=2 call=1 call=0 give:1=1 give:1=1 call=0 call=429',
    ],
    [
      'of several, what is not needed is given back, and never more',
      '9/1h',
      'call pass:30 more:6=2 unmore:0=2 unmore:4=6 unmore:4=8 restart call=7',
    ],
    [
      'and of a refill',
      '9/1h,refill',
      'call pass:30 more:6=2 unmore:0=2 unmore:4=6 unmore:4=8 restart call=7',
    ],
    ['more is taken whole, or not at all', '5/1h', 'call more:2=2 more:3=429 more:2=0 restart call=429'],
    ['and of a refill', '5/1h,refill', 'call more:2=2 more:3=429 more:2=0 restart call=429'],
    ['a rate keeps each call, whatever it costs', '9/1h 2/1h', 'call give:0=9 call more:1=7 call=429'],
    ['more than the whole quota is never granted, and takes nothing', '5/1h', 'call more:9=429 call=3'],
    ['without a quota nothing costs anything', '-', 'call=1000000000 more:9=1000000000'],
    [
      'limits that change hold from the next call on',
      '2/1h',
      'call set:5/1h call=3 set:2/1d call=1 give:0=1 set:- call=1000000000',
    ],
    ['nothing is given back of a window that is over', '5/1h', 'call pass:3600 call=4 give:0=4'],
    [
      'calls in flight count until they are over, once each',
      '- - 2',
      'call call call=429 end:0 end:0 call=1000000000 call=429',
    ],
    [
      'what was granted survives a restart',
      '2/1h',
      'call restart call=0 call=429 restart pass:0.001 call=429',
    ],
    ['and of a refill', '2/1h,refill', 'call restart call=0 call=429 restart pass:0.001 call=429'],
    [
      'a clock that is set back forgets nothing, nor one that was ahead',
      '2/1h',
      'call jump:-86400 call=0 call=429 restart call=429 jump:86400 call=429 pass:3600 call=1',
    ],
    [
      'calls come back in time where it was set back for good',
      '1/1h',
      'call jump:-25920000 pass:3599.999 call=429 pass:0.001 call=0',
    ],
    ['so after a restart', '1/1h', 'call jump:-25920000 restart pass:3599.999 call=429 pass:0.001 call=0'],
  ])('%s: %s', (_, limits, steps) => {
    const { create, call, clock, keyring, restart } = setupAdmission();
    const [quota = '-', rate = '-', concurrency] = limits.split(' ');
    const parsed = (text: string) => limitsOf(text === '-' ? null : text);
    const more = concurrency === undefined ? {} : { concurrency: Number(concurrency) };
    const { key } = create({}, { ...parsed(quota), ...(rate !== '-' && { rate: parseRate(rate) }), ...more });
    const permits: Permit[] = [];
    let further: Charge | undefined;
    const does: Record<string, (value: string) => unknown> = {
      call() {
        const answer = call(key);
        if (!isRefused(answer)) permits.push(answer);
        return answer;
      },
      give: (at) => permits[Number(at)]?.refund(),
      more(calls) {
        const answer = permits.at(-1)?.takeMore(Number(calls)) as Charge | Refusal;
        if (!isRefused(answer)) further = answer;
        return answer;
      },
      unmore: (calls) => further?.refund(Number(calls)),
      end: (at) => permits[Number(at)]?.leave(),
      pass: (seconds) => clock.advance(Number(seconds) * 1_000),
      jump: (seconds) => clock.jump(Number(seconds) * 1_000),
      set: (quota) => void keyring.setLimits('desk', parsed(quota)),
      restart,
    };
    const shown = steps.split(' ').map((step) => {
      const [done = '', expected] = step.split('=');
      const [name = '', value = ''] = done.split(/:(.*)/);
      const { status, remaining } = (does[name]?.(value) ?? {}) as { status?: number; remaining?: number };
      return expected === undefined ? done : `${done}=${status ?? remaining}`;
    });
    expect(shown.join(' ')).toBe(steps);
  });
});
