/** Who calls without a valid key is slowed down, and nobody else. */

import { describe, expect, test } from 'vitest';
import { type Refusal, refusal } from '../../../src/serve/service/admission.ts';
import { countFailures } from '../../../src/serve/service/auth.ts';
import { newKey } from '../../../src/serve/service/keys.ts';
import { outcome, setupAdmission } from '../support.ts';

describe('calls without a valid key', () => {
  const wrong = (admission: ReturnType<typeof setupAdmission>, times: number, address: string) =>
    Array.from({ length: times }, () => outcome(admission.identify(newKey(), { address }) as Refusal));

  test('are limited by address, and a valid key from there is none of them', () => {
    const setup = setupAdmission();
    const { key } = setup.create();
    const outcomes = wrong(setup, 400, '192.0.2.1');
    expect([outcomes[0], outcomes.at(-1)]).toEqual([401, 429]);
    expect(setup.identify(newKey(), { address: '192.0.2.1' })).toEqual(refusal('failures', 200, 'failures'));
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

  test('of many addresses take no more memory than those of some', () => {
    const count = countFailures();
    const waits = Array.from({ length: 301 }, () => count('192.0.2.1', 0));
    expect([waits[299], waits[300]]).toEqual([0, 200]);
    for (let n = 0; n < 10_000; n += 1) count(`10.0.${n >> 8}.${n & 255}`, 0);
    expect(count('192.0.2.1', 0), 'it was quiet for longest').toBe(0);
  });
});
