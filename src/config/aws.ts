/** The keys and the place of a bucket, from the variables and files that AWS's own programs read. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import type { Environment } from './settings.ts';

export type AwsAccess = {
  accessKeyId: string;
  secretAccessKey: string;
  /** Of temporary credentials. */
  sessionToken: string | undefined;
  region: string;
  /** Of a service other than AWS, without a slash at its end. */
  endpoint: string | undefined;
};

/**
 * Reads the files each time, since renewed credentials are written there.
 * @throws Failure `config` that names what is missing, and never a secret.
 */
export function readAws(environment: Environment): AwsAccess {
  const { credentials, config } = profileOf(environment);
  const endpoint =
    environment['AWS_ENDPOINT_URL_S3'] ?? environment['AWS_ENDPOINT_URL'] ?? config['endpoint_url'];
  const region = environment['AWS_REGION'] ?? environment['AWS_DEFAULT_REGION'] ?? config['region'];
  if (endpoint === undefined && region === undefined)
    throw new Failure(
      'config',
      'MIRROR_LAKE is in a bucket, and AWS_REGION is missing: set it to its region',
    );
  return {
    ...keysOf(environment, { ...config, ...credentials }),
    // Other services mostly take this one.
    region: region ?? 'us-east-1',
    endpoint: endpoint && readEndpoint(endpoint),
  };
}

function keysOf(environment: Environment, profile: Profile) {
  const id = environment['AWS_ACCESS_KEY_ID'];
  const [accessKeyId, secretAccessKey, sessionToken] =
    id === undefined
      ? [profile['aws_access_key_id'], profile['aws_secret_access_key'], profile['aws_session_token']]
      : [id, environment['AWS_SECRET_ACCESS_KEY'], environment['AWS_SESSION_TOKEN']];
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return { accessKeyId, secretAccessKey, sessionToken };
  throw new Failure(
    'config',
    'MIRROR_LAKE is in a bucket, and there is no key for it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to one of ~/.aws/credentials',
  );
}

function readEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search)
    return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  throw new Failure('config', 'AWS_ENDPOINT_URL is not an address such as https://s3.example.com');
}

type Profile = Readonly<Record<string, string>>;

function profileOf(environment: Environment): { credentials: Profile; config: Profile } {
  const name = environment['AWS_PROFILE'] ?? 'default';
  const home = join(environment['HOME'] ?? '/', '.aws');
  const credentials = readProfiles(
    environment['AWS_SHARED_CREDENTIALS_FILE'] ?? join(home, 'credentials'),
  ).get(name);
  const config = readProfiles(environment['AWS_CONFIG_FILE'] ?? join(home, 'config')).get(
    name === 'default' ? name : `profile ${name}`,
  );
  if (environment['AWS_PROFILE'] !== undefined && !credentials && !config)
    throw new Failure('config', `AWS_PROFILE: there is no profile ${name} in the files of AWS`);
  return { credentials: credentials ?? {}, config: config ?? {} };
}

/** The sections of such a file; none where there is no file. */
function readProfiles(file: string): Map<string, Profile> {
  const profiles = new Map<string, Record<string, string>>();
  let profile: Record<string, string> = {};
  for (const line of textOf(file).split(/\r?\n/)) {
    const { section, key, value } =
      /^\s*(?:\[\s*(?<section>[^\]]+?)\s*\]|(?<key>[\w-]+)\s*=\s*(?<value>.*?))\s*$/.exec(line)?.groups ?? {};
    if (section !== undefined) {
      profile = profiles.get(section) ?? {};
      profiles.set(section, profile);
    }
    // Indented lines belong to a service.
    if (key !== undefined && value && !/^\s/.test(line)) profile[key] = value;
  }
  return profiles;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return '';
    throw new Failure('config', `${file} cannot be read (${code})`);
  }
}
