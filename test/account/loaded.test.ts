import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../helpers/cli.ts';
import { freePort } from '../helpers/loopback.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';

/** Writes down the address of each module that the process loads. */
const spy = `
  import { register } from 'node:module';
  register('data:text/javascript,' + encodeURIComponent(\`
    import { appendFileSync } from 'node:fs';
    export async function load(url, context, next) {
      appendFileSync(process.env.LOADED, url + '\\\\n');
      return await next(url, context);
    }\`));
`;

test('who shares no limits loads nothing for it', async () => {
  const { cwd, environment } = await setupSync({ rows: 3 }, sharedClock());
  const [hook, file] = [join(cwd, 'spy.mjs'), join(cwd, 'loaded')];
  writeFileSync(hook, spy);
  const loadedWith = async (settings: Record<string, string>) => {
    writeFileSync(file, '');
    const watched = { LOADED: file, NODE_OPTIONS: `--import "${hook}"` };
    const { code } = await runCli(['sync', 'news'], { ...environment, ...watched, ...settings }, cwd);
    const modules = /\/node_modules\/ioredis\/|\/account-\w+\.js$/gm;
    return { code, loaded: (readFileSync(file, 'utf8').match(modules) ?? []).length > 0 };
  };
  const REDIS_URL = `redis://127.0.0.1:${await freePort()}`;
  expect(await loadedWith({ REDIS_URL })).toEqual({ code: 0, loaded: false });
  expect(await loadedWith({ REDIS_URL, MIRROR_ACCOUNT: 'desk' })).toEqual({ code: 75, loaded: true });
});
