/** The addresses of the page. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pathOf, type Route, routeOf } from '../../web/routes.ts';

test('every address leads back to where it came from, whatever a key holds', () => {
  const text = fc.string({ minLength: 1, unit: 'grapheme' });
  const route: fc.Arbitrary<Route> = fc.oneof(
    fc.record({ view: fc.constant('dataset'), job: text }) as fc.Arbitrary<Route>,
    fc.record({ view: fc.constant('row'), job: text, key: text }) as fc.Arbitrary<Route>,
    fc.record({ view: fc.constant('walk'), id: fc.nat() }) as fc.Arbitrary<Route>,
    fc.constantFrom<Route>(
      { view: 'overview' },
      { view: 'walks' },
      { view: 'calls' },
      { view: 'problems' },
      { view: 'sql' },
    ),
  );
  fc.assert(
    fc.property(route, (one) => {
      expect(routeOf(pathOf(one))).toEqual(one);
    }),
  );
});

test('what is no address of the page leads nowhere', () => {
  for (const path of [
    ...['/nothing', '/datasets', '/datasets/', '/datasets/a/rows', '/datasets/a/rows/b/c', '/walks/x'],
    ...['/walks/1/2', '/%'],
  ])
    expect([path, routeOf(path)]).toEqual([path, null]);
});
