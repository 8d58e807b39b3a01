import { describe, expect, test } from 'vitest';
import type { Readiness } from '../../../src/serve/service/metrics.ts';
import { runMain } from '../../helpers/main.ts';
import { everyJob, setupWatched } from './support.ts';

const MINUTE = 60_000;

describe('/readyz', () => {
  test('is ready as long as status calls every dataset fresh, and names the others', async () => {
    const { bench, ready } = await setupWatched();
    for (const minutes of [0, 4, 2, 5, 20, 20]) {
      bench.clock.advance(minutes * MINUTE);
      const { status, json } = await ready();
      const { stdout } = await runMain(['status', '--json'], { MIRROR_DIR: bench.dir }, bench.clock);
      const told = JSON.parse(stdout) as { datasets: { job: string; fresh: boolean; ageSeconds: number }[] };
      const { datasets } = json as Readiness;
      expect(datasets.map(({ job, ready, ageSeconds }) => [job, ready, ageSeconds])).toEqual(
        told.datasets.map(({ job, fresh, ageSeconds }) => [job, fresh, ageSeconds]),
      );
      const all = told.datasets.every(({ fresh }) => fresh);
      expect([status, (json as Readiness).ready]).toEqual([all ? 200 : 503, all]);
    }
  });

  test('holds a dataset to the age that may be answered, where that is less', async () => {
    const maxAgeMs = { news: 2 * MINUTE, usage: 24 * 60 * MINUTE };
    const { bench, ready } = await setupWatched({ settings: { maxAgeMs } });
    const of = async (name: string) =>
      ((await ready()).json as Readiness).datasets.find(({ job }) => job === name);
    expect(await of('news')).toMatchObject({ ready: true, boundSeconds: 120, why: null });
    expect(await of('usage')).toMatchObject({ ready: true, boundSeconds: 1_800 });
    bench.clock.advance(2 * MINUTE);
    expect(await of('news')).toMatchObject({ ready: false, why: 'too-old' });
    bench.clock.advance(10 * MINUTE);
    expect(await of('news')).toMatchObject({ ready: false, why: 'stale' });
    expect(await of('usage')).toMatchObject({ ready: true });
  });

  test('asks nothing of a dataset that is switched off', async () => {
    const schedules = Object.fromEntries(
      everyJob.map((job) => [job, job === 'news' ? { every: MINUTE } : ('off' as const)]),
    );
    const { ready } = await setupWatched({ walked: ['news'], settings: { schedules } });
    expect((await ready()).json).toMatchObject({ ready: true, datasets: [{ job: 'news' }] });
  });

  test('is not ready for what was never proven, or by a clock that was set back', async () => {
    const { bench, ready } = await setupWatched({ walked: ['news'] });
    expect(await ready()).toMatchObject({
      status: 503,
      headers: { 'retry-after': '30' },
      json: {
        ready: false,
        mirror: 'readable',
        datasets: expect.arrayContaining([
          expect.objectContaining({ job: 'usage', ready: false, why: 'never-complete' }),
        ]),
      },
    });
    bench.clock.jump(-60 * MINUTE);
    const { datasets } = (await ready()).json as Readiness;
    expect(datasets.find(({ job }) => job === 'news')).toMatchObject({ ready: false, why: 'clock-ahead' });
  });
});
