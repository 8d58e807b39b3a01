import { expect, test } from 'vitest';
import {
  asFailure,
  exitCodes,
  Failure,
  receivedFailure,
  sentFailure,
  toError,
  worstExitCode,
} from '../src/base/errors.ts';

test('exit codes are those of sysexits that scripts rely on; of several jobs it is that of the most severe', () => {
  const { done, usage, contract, unreachable, bug, disk, incomplete, key, config, ...others } = exitCodes;
  expect([done, usage, contract, unreachable, bug, disk, incomplete, key, config, others]).toEqual([
    ...[0, 64, 65, 69, 70, 74, 75, 77, 78],
    {},
  ]);
  const bySeverity = [config, disk, bug, key, contract, unreachable, incomplete, done];
  for (const [at, code] of bySeverity.entries())
    for (const milder of bySeverity.slice(at)) {
      expect(worstExitCode([milder, code])).toBe(code);
      expect(worstExitCode([code, milder])).toBe(code);
    }
  expect(worstExitCode([])).toBe(0);
});

test('whatever is thrown becomes an error, and what was not foreseen a failure that says where it was thrown', () => {
  const failure = new Failure('disk', 'as it is');
  expect([toError(failure), asFailure(failure)]).toEqual([failure, failure]);
  expect(toError('only words')).toEqual(new Error('only words'));
  expect(toError(undefined)).toBeInstanceOf(Error);
  const { kind, message } = asFailure(new TypeError('a mistake'));
  expect(kind).toBe('bug');
  expect(message).toMatch(/^TypeError: a mistake\n +at .*errors\.test\.ts/);
});

test('a failure arrives in another thread as it was sent', () => {
  const arrived = receivedFailure(structuredClone(sentFailure(new Failure('disk', 'the disk is full'))));
  expect(arrived).toBeInstanceOf(Failure);
  expect(arrived).toMatchObject({ kind: 'disk', message: 'the disk is full', exitCode: 74 });
});
