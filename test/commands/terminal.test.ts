/** What the API or anybody else wrote never reaches a terminal as it is: it could drive, hide or reorder what is shown. */

import { PassThrough } from 'node:stream';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { logOptions } from '../../src/base/log.ts';
import { runMain } from '../helpers/main.ts';
import { setup } from '../helpers/setup.ts';
import { setupSync } from '../helpers/sync-bench.ts';

/** An escape sequence, a control character of the second kind, and a mark that turns the direction of writing. */
const HOSTILE = 'a\u001b[2Jb\u009bc\u202ed';
const SHOWN = 'a\\u{1b}[2Jb\\u{9b}c\\u{202e}d';

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const raw = /[\u001b\u0080-\u009f\u202e]/;

describe('hostile text', () => {
  it('of a walk is written out by status, and is the same text for programs, in characters that a terminal does not obey', async () => {
    const bench = await setup({ rows: 3, walked: ['ai-signals'] });
    bench.tamper(`UPDATE walks SET status = 'failed', error = '${HOSTILE}', generated_at = '${HOSTILE}'`);
    const run = async (...args: string[]) => {
      const { stdout } = await runMain(args, { MIRROR_DIR: bench.dir }, bench.clock);
      expect(stdout).not.toMatch(raw);
      return stdout;
    };
    expect(await run('status')).toContain(SHOWN);
    expect(JSON.parse(await run('status', '--json')).datasets[0].doing.message).toBe(HOSTILE);
    bench.tamper(`UPDATE walks SET status = 'complete'`);
    const receipt = await run('export', 'ai-signals', '-o', `${bench.dir}/out.csv`, '--json');
    expect(JSON.parse(receipt).sources[0].proof.generatedAt).toBe(HOSTILE);
  });

  it.each([
    ['sync', HOSTILE],
    [HOSTILE],
    ['status', `--${HOSTILE}`],
    ['export', HOSTILE],
    ['query', `SELECT '${HOSTILE}`],
  ])('of a command line is written out where it is refused: %j', async (...args) => {
    const { code, stdout, stderr } = await runMain(
      args,
      {},
      { now: () => 0, monotonic: () => 0, sleep: async () => {}, after: () => () => {} },
    );
    expect(code).not.toBe(0);
    expect(stdout + stderr).not.toMatch(raw);
  });

  it('of an answer is written out in the progress of a sync', async () => {
    const bench = await setupSync({ rows: 3 });
    bench.model.faults.push(when({ endpoint: 'aiSignals' }, faults.contentType('text/\u009bhtml')));
    const { code, stdout, stderr } = await bench.run(['sync', 'ai-signals', '--json']);
    expect(code).toBe(65);
    expect(stderr).toContain('text/\\u{9b}html');
    expect(stdout + stderr).not.toMatch(raw);
  });

  it('is written out in the log, in messages and in fields', async () => {
    const stream = new PassThrough({ encoding: 'utf8' });
    const log = pino(logOptions('info'), stream);
    log.warn({ job: 'news', err: HOSTILE, counts: { rows: 3 } }, `failed: ${HOSTILE}`);
    log.info('plain');
    const [warned = '', plain = ''] = String(stream.read()).split('\n');
    expect(warned).not.toMatch(raw);
    expect(JSON.parse(warned)).toMatchObject({
      job: 'news',
      err: SHOWN,
      counts: { rows: 3 },
      msg: `failed: ${SHOWN}`,
    });
    expect(JSON.parse(plain)).toMatchObject({ msg: 'plain' });
  });
});
