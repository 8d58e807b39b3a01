import { request } from 'node:http';
import { expect } from 'vitest';
import { type Fault, type ModelApi, sampleKey } from '../../model-api/index.ts';
import { openModel } from './support.ts';

export type Outcome = {
  status?: number;
  headers: Record<string, unknown>;
  bytes: Buffer;
  /** The system's code, or `timeout`, where the answer did not end as it should. */
  error?: string;
};

/** What arrives on the wire, good or bad. */
export function fetchRaw(model: ModelApi, path: string, longestWaitMs = 10_000): Promise<Outcome> {
  return new Promise((resolve) => {
    const outcome: Outcome = { headers: {}, bytes: Buffer.alloc(0) };
    const end = (error?: string) => resolve(error === undefined ? outcome : { ...outcome, error });
    const call = request(model.url + path, {
      headers: { authorization: `Bearer ${sampleKey.key}` },
      agent: false,
      signal: AbortSignal.timeout(longestWaitMs),
    });
    call.on('error', (error: NodeJS.ErrnoException) =>
      end(error.name === 'AbortError' ? 'timeout' : error.code),
    );
    call.on('response', (response) => {
      Object.assign(outcome, { status: response.statusCode, headers: response.headers });
      response.on('data', (chunk: Buffer) => {
        outcome.bytes = Buffer.concat([outcome.bytes, chunk]);
      });
      response.on('error', (error: NodeJS.ErrnoException) =>
        end(error.name === 'AbortError' ? 'timeout' : error.code),
      );
      response.on('end', () => end());
    });
    call.end();
  });
}

export const signals = '/api/v1/ai-signals?limit=20&offset=20';

export async function spoiled(fault: Fault, path = signals) {
  const model = await openModel({ faults: [() => fault] });
  const outcome = await fetchRaw(model, path);
  const text = outcome.bytes.toString();
  return { ...outcome, text, json: (): Record<string, unknown> => JSON.parse(text) };
}

export const errorBody = { error: expect.any(String), message: expect.any(String) };
