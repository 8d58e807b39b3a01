/** The part of undici that calls the API. With all of it, `sync` would take an eighth longer to start. */

import methods from 'undici/lib/api/index.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';

export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';

// As undici's own index does.
Object.assign(Dispatcher.prototype, methods);
