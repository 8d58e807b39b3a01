import { expect, onTestFinished, test } from 'vitest';
import { openConnection, openReadOnly } from '../../src/store/connection.ts';
import { runMain } from '../helpers/main.ts';
import { setup } from '../helpers/setup.ts';

test('a write-ahead log that a reader keeps long is named by status and doctor, until it has gone', async () => {
  const { dir, store, clock, mirror } = await setup({ rows: 5 });
  await mirror('ai-signals');
  const reader = openReadOnly(store.file);
  onTestFinished(() => void reader.close());
  const said = async () => {
    const settings = { MIRROR_DIR: dir };
    const status = JSON.parse((await runMain(['status', '--json'], settings, clock)).stdout);
    const doctor = JSON.parse((await runMain(['doctor', '--offline', '--json'], settings, clock)).stdout);
    const find = (list: Record<string, unknown>[], name: string) =>
      list.find(({ code, name: called }) => (code ?? called) === name);
    return [find(status.problems, 'long-log'), find(doctor.checks, 'write-ahead-log')];
  };
  expect(await said()).toMatchObject([undefined, { level: 'ok' }]);

  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM walks').get();
  const writer = openConnection(store.file);
  writer.exec('CREATE TABLE ballast AS SELECT randomblob(70000000) AS bytes');
  writer.close();
  const advice = expect.stringContaining('fuser -v');
  expect(await said()).toMatchObject([
    {
      level: 'warning',
      message: expect.stringMatching(/^the write-ahead log is 7\d MB long: a reader/),
      advice,
      exitCode: 0,
    },
    { level: 'warning', message: expect.stringMatching(/^takes 7\d MB: a reader/), advice },
  ]);

  reader.exec('COMMIT');
  await store.emptyLog();
  expect(await said()).toMatchObject([undefined, { level: 'ok' }]);
});
