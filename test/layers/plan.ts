/** The plan of the house as data: who may import whom. CONTRIBUTING.md draws it. */

export type Room = {
  /** The rooms that it may import. Every room may also import the leaves, unless it is `strict`. */
  imports?: readonly string[];
  /** The rooms of which it may import types only. */
  types?: readonly string[];
  /** The only files that other rooms may import. Not given: all of them. */
  doors?: readonly string[];
  /** It imports nothing of ours but `imports`. */
  strict?: true;
};

/** Small files that nearly every room needs. */
export const leaves = [
  'errors',
  'page',
  'alive',
  'disk',
  'clock',
  'backoff',
  'schedule',
  'near',
  'printable',
  'log',
  'version',
  'releases',
  'socket-path',
  'atomic-file',
  'program-file',
  'thread',
  'loopback',
  'byte-cache',
  'small-heap',
];

// What all that writes to the database stands on.
const ground = ['store/sql', 'store/schema', 'store/db'];

/** From the bottom up: a room imports only rooms that are named before it here, so no arrow runs back. */
export const rooms: Record<string, Room> = {
  ...Object.fromEntries(leaves.map((leaf) => [leaf, { strict: true }])),
  log: { imports: ['printable'], strict: true },
  'socket-path': { imports: ['errors'], strict: true },
  'atomic-file': { imports: ['errors', 'disk'], strict: true },
  thread: { imports: ['errors', 'program-file'], strict: true },

  // The API itself, for tests and the demo.
  'model-api': { strict: true, doors: ['model-api/index.ts'] },

  // What an endpoint is, and the settings.
  job: { strict: true },
  jobs: { imports: ['job'], strict: true },
  key: {},
  config: { imports: ['key'], types: ['job'] },
  'load-jobs': { imports: ['job'] },
  'job-list': { imports: ['job', 'load-jobs'] },

  // A call, a page, a walk.
  governor: { doors: ['src/governor/gate.ts', 'src/governor/describe.ts', 'src/governor/state.ts'] },
  redis: {},
  account: { imports: ['governor', 'redis'], doors: ['src/account.ts'] },
  api: { types: ['governor', 'key'], doors: ['src/api/client.ts'] },
  validate: { imports: ['job'], doors: ['src/validate.ts'] },
  walk: {},

  // The database.
  'store/sql': {},
  'store/schema': { imports: ['store/sql'] },
  'store/db': { imports: ['store/sql'] },
  'store/order': { imports: ['store/sql', 'store/db'] },
  'store/records': { imports: ['job', ...ground, 'store/order'], types: ['config'] },
  'store/fields': { imports: ['job', ...ground, 'store/records'] },
  'store/walk': { imports: ['job', 'walk', ...ground, 'store/order', 'store/records', 'store/fields'] },
  store: {
    imports: ['job', ...ground, 'store/order', 'store/records', 'store/fields', 'store/walk'],
    doors: ['src/store/index.ts', 'src/store/read.ts', 'src/store/beside.ts'],
  },

  // A pass over a dataset, and when it runs.
  'on-change': { types: ['store'], doors: ['src/on-change.ts'] },
  mirror: { imports: ['job', 'walk', 'validate', 'store'], types: ['api'], doors: ['src/mirror.ts'] },
  queue: { imports: ['redis'], doors: ['src/queue/index.ts', 'src/queue/examine.ts'] },

  // What follows the mirror elsewhere. Every target has the same changes, columns and datasets; the first is Postgres.
  output: {},
  targets: { imports: ['job-list', 'output', 'store'] },
  'targets/ship': {
    imports: ['job-list', 'store', 'targets'],
    types: ['config'],
    doors: ['src/targets/ship.ts', 'src/targets/ship/thread.ts'],
  },

  // What people and programs read.
  plan: { imports: ['governor', 'store'], types: ['job-list'] },
  reading: {
    imports: ['output', 'plan', 'store', 'targets'],
    types: ['job-list', 'queue'],
    doors: [
      ...['status', 'query', 'export', 'backup', 'quarantine'],
      ...['pages', 'filters', 'tally', 'last-walks', 'query/sources'],
    ].map((at) => `src/reading/${at}.ts`),
  },

  // The other target: files of Parquet.
  'targets/lake': {
    imports: ['config', 'job-list', 'output', 'reading', 'store', 'targets'],
    doors: ['src/targets/lake.ts', 'src/targets/lake/thread.ts'],
  },

  // The service. Each of its rooms knows HTTP no better than it needs to.
  'serve/trouble': {},
  'serve/database': { imports: ['store'] },
  'serve/limits': {},
  'serve/keys': { imports: ['store', 'serve/database', 'serve/limits'] },
  'serve/admission': {
    imports: ['store', 'serve/trouble', 'serve/database', 'serve/limits', 'serve/keys'],
  },
  'serve/usage': { imports: ['serve/admission', 'serve/limits'], types: ['job-list'] },
  'serve/listen': { imports: ['config', 'serve/keys'], doors: ['src/serve/listen.ts'] },
  'serve/answers': {
    imports: ['reading', 'store', 'serve/trouble'],
    types: ['job-list', 'serve/admission'],
  },
  'serve/app': { imports: ['serve/keys', 'serve/admission', 'serve/answers'] },
  'serve/openapi': { imports: ['serve/answers', 'serve/usage'], types: ['job-list'] },
  'serve/metrics': {
    imports: ['reading', 'targets'],
    types: ['job-list', 'plan', 'store', 'serve/answers', 'serve/app'],
  },
  'serve/page': {
    imports: [
      ...['job-list', 'plan', 'reading', 'store'],
      ...['serve/database', 'serve/keys', 'serve/admission', 'serve/answers', 'serve/app'],
    ],
    types: ['output', 'targets'],
  },
  serve: {
    imports: [
      'job-list',
      ...[
        'serve/keys',
        'serve/admission',
        'serve/answers',
        'serve/app',
        'serve/openapi',
        'serve/metrics',
        'serve/usage',
        'serve/page',
      ],
    ],
    types: ['plan'],
  },

  // The page, for browsers.
  web: { types: ['serve/page'], strict: true },

  // All of it together.
  app: {
    imports: [
      'account',
      'api',
      'config',
      'governor',
      'job-list',
      'load-jobs',
      'mirror',
      'on-change',
      'store',
    ],
    types: ['job'],
  },
  daemon: {
    imports: [
      'app',
      'config',
      'job',
      'job-list',
      'plan',
      'queue',
      'reading',
      'store',
      'targets',
      'targets/ship',
      'targets/lake',
    ],
    types: ['mirror'],
    doors: ['src/daemon.ts'],
  },
  doctor: {
    imports: ['account', 'app', 'config', 'job-list', 'queue', 'reading', 'store', 'targets'],
    types: ['job'],
    doors: ['src/doctor.ts'],
  },
  commands: {
    imports: [
      'app',
      'config',
      'daemon',
      'doctor',
      'job-list',
      'load-jobs',
      'model-api',
      'output',
      'plan',
      'reading',
      'serve',
      'serve/database',
      'serve/keys',
      'serve/limits',
      'serve/listen',
      'serve/page',
      'targets',
      'targets/ship',
      'targets/lake',
    ],
    types: ['job', 'mirror', 'store'],
  },
  main: { imports: ['commands'] },
  outputs: {},
  'dot-env': { imports: ['config'] },
  cli: { imports: ['dot-env', 'main', 'outputs'] },
};

/** Packages that these rooms alone may import. */
export const packages: Record<string, string | readonly string[]> = {
  'better-sqlite3': 'store/db',
  bullmq: 'queue',
  ioredis: ['account', 'queue', 'redis'],
  undici: ['api', 'targets/lake'],
  aws4fetch: 'targets/lake',
  hyparquet: 'targets/lake',
  hono: 'serve/app',
  '@hono/node-server': 'serve/app',
  'prom-client': 'serve/metrics',
  pg: 'targets/ship',
  'pg-copy-streams': 'targets/ship',
  preact: 'web',
  uplot: 'web',
  'lru-cache': ['byte-cache', 'serve/answers', 'serve/keys'],
};

/** Words that only some files may use. */
export const words: { pattern: RegExp; only: RegExp; because: string }[] = [
  { pattern: /\.reveal\(/, only: /^src\/api\//, because: 'only the client that sends the key may see it' },
  {
    pattern: /\bDate\.now\b|\bMath\.random\b|\bnew Date\(\)/,
    only: /^(model-api\/.*|src\/(clock|cli|commands\/model-api)|web\/clock)\.ts$/,
    because: 'time and chance come in as parameters',
  },
];
