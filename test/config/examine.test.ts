import { expect, test } from 'vitest';
import { examineSettings } from '../../src/config.ts';

/** The first letter is Cyrillic. */
const LOOKALIKE = '\u0430pi.example.com';

function shown(environment: Record<string, string>, name: string): string | undefined {
  return examineSettings(environment, {}).find((found) => found.name === name)?.shown;
}

test('an address of plain letters is shown as it was written', () => {
  expect(shown({ MARKET_API_URL: 'https://API.example.com/v1/' }, 'MARKET_API_URL')).toBe(
    'https://API.example.com/v1/',
  );
});

test('a letter that looks like another in an address is seen', () => {
  expect(shown({ MARKET_API_URL: `https://${LOOKALIKE}` }, 'MARKET_API_URL')).toBe(
    'https://xn--pi-6kc.example.com (mind: it is written with \\u{430}, not with letters of ASCII)',
  );
  expect(shown({ REDIS_URL: `redis://${LOOKALIKE}:6379` }, 'REDIS_URL')).toBe(
    'redis://\\u{430}pi.example.com:6379',
  );
});
