/** The model on a loopback port. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCallLog } from './calls.ts';
import { createDatasets } from './datasets.ts';
import { createHandler } from './handler.ts';
import { sampleKey } from './keys.ts';
import { createLimits } from './limits.ts';
import type { ModelApi, ModelOptions, RetryAfter } from './model.ts';

/** Whole seconds until the limit will allow a call, rounded up. */
export const retryAfterSeconds: RetryAfter = (readyAt, now) =>
  String(Math.max(1, Math.ceil((readyAt - now) / 1_000)));

/** The same as an HTTP date, rounded up to its whole seconds. */
export const retryAfterDate: RetryAfter = (readyAt) =>
  new Date(Math.ceil(readyAt / 1_000) * 1_000).toUTCString();

/**
 * Starts an executable model of the whole specification on 127.0.0.1.
 * @throws the system's error where the port is taken
 */
export async function startModelApi(options: ModelOptions = {}): Promise<ModelApi> {
  const { basePath = '' } = options;
  const closing = new AbortController();
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const log = createCallLog(options.keepCalls ?? Number.POSITIVE_INFINITY);

  const model: ModelApi = {
    url: `http://127.0.0.1:${port}${basePath}`,
    port,
    calls: log.calls,
    callsTo: (path) => log.calls.filter((call) => call.path === `${basePath}${path}`),
    data: createDatasets(options),
    keys: (options.keys ?? [sampleKey]).map((key) => ({ ...key })),
    faults: [...(options.faults ?? [])],
    limits: createLimits(options),
    latencyMs: options.latencyMs ?? 0,
    beforeAnswer: options.beforeAnswer,
    async close() {
      closing.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };

  server.on('request', createHandler(model, log, options, closing.signal));
  return model;
}
