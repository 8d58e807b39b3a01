/** The description of the service in OpenAPI 3.1, which `/openapi.json` answers: made of what the jobs declare. */

import type { ListedJob } from '../../job-list.ts';
import { type Answer, type Asked, digestEtag, isKnown } from './answers.ts';
import { parameters, responseHeaders, responses } from './openapi/components.ts';
import { listPath, operatorPaths, usagePath } from './openapi/paths.ts';
import { openSchemas } from './openapi/schemas.ts';

const information = {
  title: 'Read-only Market Data API, served from a mirror',
  // That of the interface, which the specification gives ("Versioning").
  version: '1.0.0',
  description: [
    'The datasets of the market data API as market-mirror keeps them.',
    "Paths, parameters, bodies and statuses are those of the API itself; headers whose names begin with `X-Mirror-`, the parameter `seq` and the answers 400 and 410 are the mirror's own.",
    'Every answer with an error has an Error body, that for an unknown path (404) too. HEAD answers as GET does, without the body, and costs the same.',
    'The responses are private to the account that the mirror reads with.',
  ].join('\n\n'),
};

/** @param jobs the endpoints, in the order in which they are to be shown. */
export function describeService(
  jobs: readonly ListedJob[],
): (asked: Pick<Asked, 'ifNoneMatch'> & { readonly address: string }) => Answer {
  const { openapi, info, ...rest } = documentOf(jobs);
  let latest: { address: string; body: Buffer; etag: string } | undefined;
  return ({ address, ifNoneMatch }) => {
    if (latest?.address !== address) {
      const body = Buffer.from(JSON.stringify({ openapi, info, servers: [{ url: address }], ...rest }));
      latest = { address, body, etag: digestEtag(body) };
    }
    const { body, etag } = latest;
    const headers = { ETag: etag, 'Cache-Control': 'private, no-cache' };
    if (isKnown(ifNoneMatch, etag)) return { status: 304, headers, body: null };
    return { status: 200, headers: { 'Content-Type': 'application/json', ...headers }, body };
  };
}

function documentOf(jobs: readonly ListedJob[]) {
  const schemas = openSchemas();
  const paths = jobs.map((job) => [
    job.path,
    job.reading === 'walk' ? listPath(job, schemas.pageOf(job)) : usagePath(job),
  ]);
  return {
    openapi: '3.1.0',
    info: information,
    paths: { ...Object.fromEntries(paths), ...operatorPaths },
    components: {
      schemas: schemas.all(),
      parameters,
      headers: responseHeaders,
      responses,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A key that `market-mirror keys create` has printed. Each operation names the scope that it needs.',
        },
      },
    },
  };
}
