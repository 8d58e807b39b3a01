/** What there is no endpoint for: other methods, other paths, other versions. */

import { describe, expect, it } from 'vitest';
import { type Answer, ask, bearer, callerWith, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { rowsOf } from './pages.ts';
import { endpointNames, listNames, scopes } from './specification.ts';

describe.each(implementations)('methods and paths of %s', (_, start) => {
  const service = serviceOf(start);
  const guest = async () => {
    const account = await service().openAccount();
    return { url: account.url, key: await account.issueKey({ scopes }) };
  };

  it('“Every endpoint uses the method GET and is read-only”', async () => {
    const { url, key } = await guest();
    for (const name of endpointNames)
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const)
        expectRefusal(await ask(`${url}/api/v1/${name}`, bearer(key), method));
    for (const name of listNames)
      expect(await rowsOf(service(), callerWith(url, key), name, '')).toEqual(
        service().rows[name].slice(0, 50),
      );
  });

  it('“all endpoints live under /api/v1”', async () => {
    const { url, key } = await guest();
    for (const name of endpointNames)
      for (const path of [name, `api/${name}`, `api/v2/${name}`, `api/v1/v1/${name}`, `api/v1/${name}s`])
        expectRefusal(await ask(`${url}/${path}`, bearer(key)));
    expectRefusal(await ask(`${url}/api/v1`, bearer(key)));
  });
});

/** The client's mistake; by which status it is told so is not shown. */
function expectRefusal({ status }: Answer): void {
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
}
