/** The connections to the API: straight, or through the proxy of HTTPS_PROXY, to which the key is never shown. */

import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { toError } from '../base/errors.ts';
import { codeOf } from './exchange.ts';
import { PROXY } from './response.ts';

/** A proxy that opens tunnels (CONNECT). */
export type TunnelProxy = {
  /** Without user name and password. */
  url: string;
  /** What it wants in `Proxy-Authorization`. */
  authorization: string | undefined;
  /** Hosts that are reached without it, as NO_PROXY lists them. */
  exceptions: string;
};

export type Connections = {
  dispatcher: Dispatcher;
  /** Whether a tunnel was asked for, so that the proxy is on the way to the API. */
  usesProxy(): boolean;
};

/** @param origin of the API. @param proxy for https alone: without TLS the proxy would read the key. */
export function openConnections(
  origin: string,
  proxy: TunnelProxy | undefined,
  { connectMs, headersMs, bodyBytes }: { connectMs: number; headersMs: number; bodyBytes: number },
): Connections {
  const options = {
    connect: { timeout: connectMs },
    headersTimeout: headersMs,
    bodyTimeout: headersMs,
    keepAliveTimeout: 30_000,
    maxResponseSize: bodyBytes,
  };
  if (!proxy) return { dispatcher: new Pool(origin, options), usesProxy: () => false };
  let isUsed = false;
  const toProxy = (address: URL, { connect }: Pick<Pool.Options, 'connect'>) =>
    withOwnErrors(new Pool(address, { ...(connect && { connect }), headersTimeout: headersMs }), () => {
      isUsed = true;
    });
  const dispatcher = new EnvHttpProxyAgent({
    ...options,
    httpProxy: '',
    httpsProxy: proxy.url,
    noProxy: proxy.exceptions,
    ...(proxy.authorization !== undefined && { token: proxy.authorization }),
    proxyTls: { timeout: connectMs },
    clientFactory: toProxy,
  });
  return { dispatcher, usesProxy: () => isUsed };
}

/** The pool of a proxy whose errors tell that they are not the API's. @param asked is called before each tunnel. */
function withOwnErrors(pool: Pool, asked: () => void): Pool {
  const openTunnel = pool.connect.bind(pool) as (
    options: Dispatcher.ConnectOptions,
  ) => Promise<Dispatcher.ConnectData>;
  const connect = async (options: Dispatcher.ConnectOptions) => {
    asked();
    const tunnel = await openTunnel(options).catch((thrown) => {
      throw proxyError(codeOf(toError(thrown)));
    });
    if (tunnel.statusCode === 200) return tunnel;
    tunnel.socket.on('error', () => undefined).destroy();
    throw proxyError(String(tunnel.statusCode));
  };
  return Object.assign(pool, { connect });
}

const proxyError = (code: string) => Object.assign(new Error('no tunnel'), { code: PROXY + code });
