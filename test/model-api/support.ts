/** A model for one test, closed with it, and a client that knows nothing but HTTP. */

import { onTestFinished } from 'vitest';
import { type ModelApi, type ModelOptions, sampleKey, startModelApi } from '../../model-api/index.ts';

export async function openModel(options: ModelOptions = {}): Promise<ModelApi> {
  const model = await startModelApi({ rows: 120, ...options });
  onTestFinished(() => model.close());
  return model;
}

export type Page = {
  generatedAt?: string | null;
  rows: Record<string, unknown>[];
  pagination: { offset: number; limit: number; total: number; returned: number; hasMore: boolean };
};

export type Reply<Body = Page> = { status: number; headers: Headers; body: Body };

/** GET with the sample key, unless another Authorization is given; null sends none. */
export async function get<Body = Page>(
  model: { url: string },
  path: string,
  authorization: string | null = `Bearer ${sampleKey.key}`,
): Promise<Reply<Body>> {
  const response = await fetch(model.url + path, {
    headers: authorization === null ? {} : { authorization },
    redirect: 'manual',
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text && JSON.parse(text)) as Body };
}
