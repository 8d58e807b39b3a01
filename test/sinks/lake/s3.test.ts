import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HOUR_MS } from '../../../src/clock.ts';
import { readAws } from '../../../src/config/aws.ts';
import { readLake } from '../../../src/config.ts';
import { followInLake } from '../../../src/sinks/lake.ts';
import { Database } from '../../../src/store/sqlite.ts';
import { fetchInto, type S3, SECRET, startS3 } from '../../helpers/s3.ts';
import { edit } from '../edit.ts';
import { expectEqual, setup as setupDisk } from './bench.ts';

async function setup() {
  const [bench, s3] = [await setupDisk(), await startS3()];
  const lake = async (changes: Record<string, string> = {}) => {
    const ended = await bench.run(['lake'], { ...s3.environment, ...changes });
    expect(ended.stdout + ended.stderr).not.toContain(SECRET);
    return ended;
  };
  return { ...bench, s3, lake };
}

function fetched({ files }: S3, cwd: string): string {
  const there = mkdtempSync(join(cwd, 'fetched-'));
  fetchInto(there, files);
  return there;
}

test('a bucket holds what a folder would, and nothing in it is written twice', async () => {
  const { sync, lake, s3, model, clock, file, cwd } = await setup();
  for (let round = 1; round <= 3; round += 1) {
    clock.advance(9 * 3_600_000);
    edit({ model, clock }, round);
    await sync('ai-signals', 'usage');
    expect(await lake()).toMatchObject({ code: 0, stderr: '' });
  }
  await expectEqual(file, fetched(s3, cwd));
  const put = s3.answers.filter((answer) => /^PUT .* 200$/.test(answer) && !answer.includes('_proof.json'));
  expect(new Set(put).size).toBe(put.length);
  expect([...s3.files.keys()].filter((key) => !key.startsWith('market/mirror/'))).toEqual([]);
  expect(readdirSync(join(cwd, 'data/lake-partial'))).toEqual([]);
});

test('what fails for a moment is asked again, and an answer that was lost doubles nothing', async () => {
  const { sync, lake, s3, model, clock, file, cwd } = await setup();
  await sync('ai-signals', 'news');
  const troubles = [
    { status: 503, code: 'SlowDown' },
    'cut-before',
    'cut-after',
    undefined,
    { status: 409, code: 'ConditionalRequestConflict' },
  ] as const;
  s3.trouble = ({ count }) => troubles[count % troubles.length];
  expect((await lake()).code).toBe(0);
  edit({ model, clock }, 1);
  await sync('ai-signals');
  expect((await lake()).code).toBe(0);
  await expectEqual(file, fetched(s3, cwd));
});

test('while a file is on its way to a bucket, the log of the mirror can be emptied', async () => {
  const { sync, lake, s3, model, clock, file } = await setup();
  await sync();
  const mirror = new Database(file, { timeout: 0 });
  onTestFinished(() => void mirror.close());
  const held: string[] = [];
  let puts = 0;
  s3.trouble = ({ method, key }) => {
    if (method !== 'PUT') return undefined;
    puts += 1;
    mirror.exec(`UPDATE _datasets SET next_due_at = next_due_at`);
    const [log] = mirror.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (log?.busy !== 0) held.push(key);
    return undefined;
  };
  expect((await lake()).code).toBe(0);
  clock.advance(30 * 3_600_000);
  edit({ model, clock }, 1);
  await sync('ai-signals');
  expect((await lake()).code).toBe(0);
  expect(puts).toBeGreaterThan(20);
  expect(held).toEqual([]);
});

test('a load of the daemon that takes longer than a signature is valid goes on', async () => {
  const { sync, s3, environment } = await setup();
  await sync('ai-signals');
  s3.now = Date.now;
  const { arrivals } = await followInLake({
    ...{ dir: environment.MIRROR_DIR, environment: s3.environment, chance: 0 },
    ...{ only: ['ai-signals'], now: Date.now() - HOUR_MS },
  });
  expect(arrivals).toEqual([{ job: 'ai-signals', to: expect.any(Number), problems: [], failure: null }]);
});

test.each<[string, number, string, (s3: S3) => Record<string, string>]>([
  [
    'a wrong secret',
    75,
    'refuses the key (403 SignatureDoesNotMatch)',
    () => ({ AWS_SECRET_ACCESS_KEY: 'no' }),
  ],
  ['no such bucket', 78, 'no such bucket', () => ({ MIRROR_LAKE: 's3://nowhere/market' })],
  [
    'one that is not there',
    75,
    'cannot be reached (ECONNREFUSED)',
    () => ({ AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }),
  ],
  [
    'one that has no room',
    74,
    'has no room left (507 XMinioStorageFull)',
    (s3) => {
      s3.trouble = ({ method }) =>
        method === 'PUT' ? { status: 507, code: 'XMinioStorageFull' } : undefined;
      return {};
    },
  ],
  [
    'one that writes over what is there',
    78,
    'writes over what is there',
    (s3) => {
      s3.isCareless = true;
      return {};
    },
  ],
  [
    'other files',
    78,
    'holds other files',
    (s3) => {
      s3.files.set('market/mirror/notes.txt', Buffer.from('mine'));
      return {};
    },
  ],
])('%s gets one clear line', async (_, code, said, spoil) => {
  const { sync, lake, s3 } = await setup();
  await sync('ai-signals');
  const changes = spoil(s3);
  const ended = await lake(changes);
  expect({ code: ended.code, said: ended.stderr }).toEqual({ code, said: expect.stringContaining(said) });
  expect(ended.stderr.trim().split('\n')).toHaveLength(1);
});

test('a bucket that is not there is named by --check, too', async () => {
  const { run, sync, s3 } = await setup();
  await sync('ai-signals');
  expect(await run(['lake', '--check'], { ...s3.environment, MIRROR_LAKE: 's3://nowhere/market' })).toEqual({
    code: 78,
    stdout: '',
    stderr: expect.stringContaining('s3://nowhere/market/: there is no such bucket (404 NoSuchBucket)'),
  });
});

test('credentials come from the variables and files of AWS, and never from the address', async () => {
  const { cwd, s3 } = await setup();
  const aws = { ...s3.environment };
  expect(readAws(aws)).toMatchObject({ accessKeyId: 'AKIDMODEL', region: 'eu-model-1' });
  const home = join(cwd, '.aws');
  mkdirSync(home);
  writeFileSync(
    join(home, 'credentials'),
    '[default]\naws_access_key_id = ONE\naws_secret_access_key=two\n[work]\naws_access_key_id=A\naws_secret_access_key=B=\naws_session_token=C\n',
  );
  writeFileSync(
    join(home, 'config'),
    '[default]\nregion = us-east-2\n[profile work]\nservices = x\nendpoint_url = https://s3.example.com/\n  region = no\n',
  );
  expect(readAws({ HOME: cwd })).toEqual({
    accessKeyId: 'ONE',
    secretAccessKey: 'two',
    sessionToken: undefined,
    region: 'us-east-2',
    endpoint: undefined,
  });
  expect(readAws({ HOME: cwd, AWS_PROFILE: 'work' })).toEqual({
    accessKeyId: 'A',
    secretAccessKey: 'B=',
    sessionToken: 'C',
    region: 'us-east-1',
    endpoint: 'https://s3.example.com',
  });
  for (const [wrong, said] of [
    [{ AWS_REGION: 'eu-central-1' }, 'AWS_ACCESS_KEY_ID'],
    [{ AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: SECRET }, 'AWS_REGION'],
    [{ HOME: cwd, AWS_PROFILE: 'play' }, 'no profile play'],
    [{ ...aws, AWS_ENDPOINT_URL: `http://me:${SECRET}@s3` }, 'AWS_ENDPOINT_URL'],
  ] as const) {
    expect(() => readAws(wrong)).toThrow(said);
    expect(() => readAws(wrong)).not.toThrow(SECRET);
  }
  for (const address of ['s3://', 's3://UPPER', `s3://key:${SECRET}@bucket`, 'gs://bucket', 's3://b/a?x=1'])
    expect(() => readLake({ ...aws, MIRROR_LAKE: address })).toThrow('MIRROR_LAKE is neither');
});
