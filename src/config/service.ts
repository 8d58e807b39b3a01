/** The settings of the service: where it listens, who may reach it how, and how old its data may be. */

import { readFileSync, statSync } from 'node:fs';
import { Failure } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { nearest } from '../near.ts';
import type { Bounds, PageAccess, ServeAddress } from './service-values.ts';

export type { PageAccess, ServeAddress } from './service-values.ts';

export type TlsFiles = { readonly certFile: string; readonly keyFile: string };

export type ServeSettings = {
  /** Where `start` runs it; undefined where `start` does not. */
  readonly address: ServeAddress | undefined;
  /** By job, in milliseconds; a job that is not named is not bounded. */
  readonly maxAgeMs: Readonly<Record<string, number>>;
  readonly tls: TlsFiles | undefined;
  /** In lower case, without a port. */
  readonly hosts: readonly string[];
  /** Addresses and networks (CIDR) of proxies. */
  readonly trusted: readonly string[];
  readonly draftHeaders: boolean;
  readonly page: PageAccess;
};

type Given = {
  address: ServeAddress | undefined;
  bounds: Bounds | undefined;
  certFile: string | undefined;
  keyFile: string | undefined;
  hosts: readonly string[] | undefined;
  trusted: readonly string[] | undefined;
  draftHeaders: boolean;
  page: PageAccess;
};

/** What they come to together. @throws Failure `config` where they do not go together. */
export function serveSettingsOf(given: Given, jobs: readonly string[]): ServeSettings {
  const { address, bounds, certFile, keyFile, hosts = [], trusted = [], draftHeaders, page } = given;
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new Failure(
      'config',
      certFile === undefined
        ? 'MIRROR_SERVE_TLS_KEY is set without MIRROR_SERVE_TLS_CERT: set both, or neither'
        : 'MIRROR_SERVE_TLS_CERT is set without MIRROR_SERVE_TLS_KEY: set both, or neither',
    );
  const tls = certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined;
  const maxAgeMs = maxAgesOf(bounds, jobs);
  if (address) refuseOpenAddress(address, { tls, trusted, page });
  return { address, maxAgeMs, tls, hosts, trusted, draftHeaders, page };
}

/**
 * @throws Failure `config` where keys and answers would cross a network for all to read, and where anybody there would see
 * the page.
 */
export function refuseOpenAddress(
  { host }: ServeAddress,
  { tls, trusted, page }: Pick<ServeSettings, 'tls' | 'trusted' | 'page'>,
): void {
  if (isLoopback(host)) return;
  if (page === 'open')
    throw new Failure(
      'config',
      `MIRROR_SERVE_PAGE is open, and ${host} is not loopback: anybody there would see the page; set it to token, by which a key is asked for`,
    );
  if (tls || trusted.length > 0) return;
  throw new Failure(
    'config',
    `${host} is not loopback, and keys would cross the network unencrypted: set MIRROR_SERVE_TLS_CERT and MIRROR_SERVE_TLS_KEY, ` +
      'or MIRROR_SERVE_TRUST to the address of the proxy before it',
  );
}

/** Their text. @throws Failure `config` for one that cannot be read. */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): { cert: string; key: string } {
  const pair = {
    cert: readPem('MIRROR_SERVE_TLS_CERT', certFile),
    key: readPem('MIRROR_SERVE_TLS_KEY', keyFile),
  };
  if (statSync(keyFile).mode & WORLD_PERMISSION_BITS)
    throw new Failure('config', `MIRROR_SERVE_TLS_KEY: ${keyFile} can be used by every user: chmod 600 it`);
  return pair;
}

const WORLD_PERMISSION_BITS = 0o007;

function readPem(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    throw new Failure('config', `${setting}: ${file} cannot be read (${code}): let this user read it`);
  }
}

function maxAgesOf(bounds: Bounds | undefined, jobs: readonly string[]): Record<string, number> {
  const { all, byJob = new Map<string, number>() } = bounds ?? {};
  for (const job of byJob.keys())
    if (!jobs.includes(job))
      throw new Failure(
        'config',
        `MIRROR_SERVE_MAX_AGE names no job with '${job}'${nearest(job, [...jobs])}; known are ${jobs.join(', ')}`,
      );
  const bounded = jobs.map((job) => [job, byJob.get(job) ?? all] as const);
  return Object.fromEntries(
    bounded.filter((entry): entry is readonly [string, number] => entry[1] !== undefined),
  );
}
