import { describe, expect, test } from 'vitest';
import {
  asFailure,
  exitCodes,
  Failure,
  receivedFailure,
  Snooze,
  sentFailure,
  toError,
  worstExitCode,
} from '../src/errors.ts';

describe('exit codes', () => {
  test('are those of sysexits that scripts rely on', () => {
    expect(exitCodes).toEqual({
      done: 0,
      usage: 64,
      contract: 65,
      unreachable: 69,
      bug: 70,
      disk: 74,
      incomplete: 75,
      key: 77,
      config: 78,
    });
  });

  test('of several jobs are that of the most severe', () => {
    const bySeverity = [78, 74, 70, 77, 65, 69, 75, 0];
    for (const [at, code] of bySeverity.entries())
      for (const milder of bySeverity.slice(at)) {
        expect(worstExitCode([milder, code])).toBe(code);
        expect(worstExitCode([code, milder])).toBe(code);
      }
  });

  test('of no job at all is that of success', () => {
    expect(worstExitCode([])).toBe(0);
  });
});

describe('a failure', () => {
  test('has the exit code of its kind', () => {
    expect(new Failure('disk', 'the disk is full').exitCode).toBe(74);
  });
});

test('a snooze says until when and why', () => {
  const { message } = new Snooze(Date.UTC(2026, 0, 2, 3, 4, 5, 6), 'quota');
  expect(message).toBe('waiting until 2026-01-02T03:04:05.006Z: the quota is used up');
});

test('whatever is thrown becomes an error', () => {
  const error = new Failure('bug', 'as it is');
  expect(toError(error)).toBe(error);
  expect(toError('only words')).toEqual(new Error('only words'));
  expect(toError(undefined)).toBeInstanceOf(Error);
});

test('what was not foreseen becomes a failure that says where it was thrown', () => {
  const failure = new Failure('disk', 'as it is');
  expect(asFailure(failure)).toBe(failure);
  const { kind, message } = asFailure(new TypeError('a mistake'));
  expect(kind).toBe('bug');
  expect(message).toMatch(/^TypeError: a mistake\n +at .*errors\.test\.ts/);
});

test('a failure arrives in another thread as it was sent', () => {
  const arrived = receivedFailure(structuredClone(sentFailure(new Failure('disk', 'the disk is full'))));
  expect(arrived).toBeInstanceOf(Failure);
  expect(arrived).toMatchObject({ kind: 'disk', message: 'the disk is full', exitCode: 74 });
});
