// The settings, read from environment variables: the one reader of process.env. All errors are told at once, in plain words.
import { isIP } from 'node:net';
import type { Settings } from './app/ports.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface Config extends Omit<Settings, 'version' | 'setupToken'> {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Null: made and kept in dataDir (embedded mode only). */
  readonly secretKey: string | null;
  readonly admin: { readonly email: string; readonly password: string } | null;
  readonly setupToken: string | null;
  readonly newAgentsPerMinute: number;
  readonly maxAgents: number;
  readonly corsOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly allowPrivateOutbound: boolean;
  /** Whether GET /api/openapi.json answers without a login or key. */
  readonly openApiPublic: boolean;
  readonly logLevel: LogLevel;
  readonly drainSeconds: number;
  /** Bytes that ingest leaves free on the disk of the embedded store; null for a part of it, 0 for none. */
  readonly diskReserveBytes: number | null;
  readonly cluster: {
    readonly mongoUrl: string;
    readonly redisUrl: string;
    /** Begins every key in Redis. */
    readonly name: string;
  } | null;
}

interface Setting {
  readonly name: string;
  readonly fallback: string;
  readonly help: string;
}

const setting = (name: string, fallback: string, help: string): Setting => ({ name, fallback, help });

/** Every setting, in the order of `--help`. */
export const settings: readonly Setting[] = [
  setting('PORT', '8000', 'Port to listen on; 0 takes a free one'),
  setting('HOST', '0.0.0.0', 'Address to listen on'),
  setting(
    'BASE_URL',
    'http://localhost:<PORT>',
    'Where people and agents reach the hub; https makes cookies Secure',
  ),
  setting('DATA_DIR', './data', 'Folder of the embedded store and the generated secrets'),
  setting(
    'SECRET_KEY',
    '',
    'Master secret, 32 characters or more; made and kept in DATA_DIR when absent (embedded mode)',
  ),
  setting('ADMIN_EMAIL', '', 'With ADMIN_PASSWORD: creates the first admin at start when there is no user'),
  setting('ADMIN_PASSWORD', '', 'See ADMIN_EMAIL; 12 characters or more'),
  setting(
    'SETUP_TOKEN',
    '',
    'What first-run setup must present (field setup_token or header X-Setup-Token), 16 characters or more; without one, and listening to other machines, the hub prints one for them',
  ),
  setting(
    'OPERATOR_TOKEN',
    '',
    'When set, enables /api/v1/operator/* for further tenants and users; 32 characters or more',
  ),
  setting('OPERATOR_TOKENS', 'on', 'off: admins can have no tokens for the API under /v1 made'),
  setting('SESSION_TTL_HOURS', '24', 'Hours a login lives without use (1 to 168)'),
  setting(
    'RATE_LIMIT_MAX_ATTEMPTS',
    '10',
    'Logins, set-up tokens tried, and calls with the operator token, per client address (IPv6: /64) and window',
  ),
  setting('RATE_LIMIT_WINDOW_SECONDS', '300', 'The login window, in seconds'),
  setting('APPROVALS_PER_MINUTE', '10', 'Approvals that an agent may ask for in a minute'),
  setting(
    'INGEST_EVENTS_PER_MINUTE',
    '6000000',
    "Audit events taken in a minute for a tenant's environment; above it 429 with Retry-After",
  ),
  setting(
    'NEW_AGENTS_PER_MINUTE',
    '20000',
    'Agents that one API key may bring in a minute; above it agents are served but not registered',
  ),
  setting(
    'MAX_AGENTS',
    '200000',
    'Agents of a tenant that are registered; those idle for 7 days without an assignment do not count',
  ),
  setting('CORS_ORIGINS', '', 'Browser origins beside BASE_URL that may call, comma separated; * is refused'),
  setting(
    'TRUSTED_PROXIES',
    '',
    'Addresses or CIDR ranges whose X-Forwarded-For is believed, comma separated',
  ),
  setting('ALLOW_PRIVATE_OUTBOUND', 'false', 'true lets outbound calls reach loopback and private addresses'),
  setting(
    'SESSION_VALUES_MAX_BYTES',
    '268435456',
    'Bytes that session values and their keys may take in one environment of a tenant',
  ),
  setting(
    'SESSION_VALUES_MAX_KEYS',
    '1000000',
    'Session values that one environment of a tenant may have; counters go on up to twice as many',
  ),
  setting(
    'LARGE_ARGUMENTS_MAX_BYTES',
    '1073741824',
    'Bytes that tool_args over 64 KiB of approvals may take in one environment of a tenant',
  ),
  setting(
    'LARGE_ARGUMENTS_DAYS',
    '90',
    'Days after which such tool_args are dropped; 0 keeps them (0 to 36500)',
  ),
  setting(
    'OPENAPI_PUBLIC',
    'true',
    'false asks for a login or an API key before /api/openapi.json is served',
  ),
  setting('LOG_LEVEL', 'info', 'debug, info, warn, error or silent'),
  setting('DRAIN_SECONDS', '5', 'On SIGTERM, streams are ended spread over this many seconds (0 to 300)'),
  setting(
    'DISK_RESERVE_BYTES',
    '',
    'Bytes of the disk of DATA_DIR that events leave free for decisions; 0 for none; when absent 5 % of it, 4 MiB to 512 MiB (embedded mode)',
  ),
  setting('MONGODB_URL', '', 'With REDIS_URL: run as one node of a cluster'),
  setting('REDIS_URL', '', 'See MONGODB_URL'),
  setting('CLUSTER_NAME', 'reeve', 'Begins every key in Redis: nodes of one cluster share it'),
  setting(
    'WIRE_AGENT_ID_HEADERS',
    'X-Service-Agent-Id',
    'Header names accepted for the agent id, comma separated',
  ),
  setting('WIRE_SESSION_COOKIE', 'service_session', 'Name of the session cookie'),
  setting('WIRE_SIGNATURE_HEADER', 'X-Service-Signature', 'Header that signs outbound webhooks'),
  setting('WIRE_KEY_PREFIX', 'svk_', 'What API keys begin with'),
  setting(
    'WIRE_API_VERSIONS',
    'service/v1',
    'apiVersions accepted in YAML, comma separated; the first is emitted',
  ),
  setting('WIRE_BUNDLE_KINDS', 'ContractBundle', 'Kinds accepted for bundles; the first is emitted'),
  setting('WIRE_RULESET_KINDS', 'Ruleset', 'Kinds accepted for rulesets; the first is emitted'),
  setting('WIRE_SIGNATURE_ENCODING', 'hex', 'Encoding of signature in contract_update: hex or base64'),
];

/** Thrown by readConfig: every problem, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Bytes: a pebibyte. */
const maxQuota = 2 ** 50;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const split = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const kind = isIP(address);
  if (kind === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (kind === 4 ? 32 : 128));
}

function isOrigin(text: string): boolean {
  try {
    return new URL(text).origin === text && /^https?:/.test(text);
  } catch {
    return false;
  }
}

interface Environment {
  readonly [name: string]: string | undefined;
}

/** Reads a setting: what is set, else its default. */
function reader(env: Environment): (name: string) => string {
  const fallbacks = new Map(settings.map((s) => [s.name, s.fallback]));
  return (name) => {
    const value = env[name]?.trim();
    return value === undefined || value === '' ? (fallbacks.get(name) ?? '') : value;
  };
}

/**
 * Reads and checks the settings.
 * @param env usually process.env
 * @throws ConfigError naming every wrong variable, what it is and what fits
 */
export function readConfig(env: Environment = process.env): Config {
  const problems: string[] = [];
  const get = reader(env);
  const fail = (name: string, wanted: string): void => {
    problems.push(`${name}: ${wanted}`);
  };
  const int = (name: string, min: number, max: number): number => {
    const value = get(name);
    const number = Number(value);
    if (!/^\d{1,15}$/.test(value) || number < min || number > max)
      fail(name, `must be a whole number from ${min} to ${max}`);
    return number;
  };
  const names = (name: string): string[] => {
    const list = split(get(name));
    if (list.length === 0 || list.length > 16 || list.some((item) => item.length > 100 || /\s/.test(item))) {
      fail(name, 'must be 1 to 16 names, comma separated, without blanks');
    }
    return list;
  };

  const port = int('PORT', 0, 65535);
  const given = env.BASE_URL?.trim() ?? '';
  const baseUrl = (given === '' ? `http://localhost:${port}` : given).replace(/\/+$/, '');
  if (given !== '' && (!/^https?:\/\/[^\s/]+/.test(baseUrl) || !URL.canParse(baseUrl)))
    fail('BASE_URL', 'must be an http or https URL');

  const secret = get('SECRET_KEY');
  if (secret !== '' && secret.length < 32) fail('SECRET_KEY', 'must have 32 characters or more');

  const email = get('ADMIN_EMAIL');
  const password = env.ADMIN_PASSWORD ?? '';
  if ((email === '') !== (password === '')) fail('ADMIN_EMAIL, ADMIN_PASSWORD', 'set both or neither');
  if (email !== '' && !/^[^\s@]+@[^\s@]+$/.test(email)) fail('ADMIN_EMAIL', 'must be an e-mail address');
  if (password !== '' && (password.length < 12 || password.length > 1024)) {
    fail('ADMIN_PASSWORD', 'must have 12 to 1024 characters');
  }

  const setupToken = get('SETUP_TOKEN');
  if (setupToken !== '' && setupToken.length < 16) fail('SETUP_TOKEN', 'must have 16 characters or more');
  const operator = get('OPERATOR_TOKEN');
  if (operator !== '' && operator.length < 32) fail('OPERATOR_TOKEN', 'must have 32 characters or more');

  const operatorTokens = get('OPERATOR_TOKENS').toLowerCase();
  if (!['on', 'off'].includes(operatorTokens)) fail('OPERATOR_TOKENS', 'must be on or off');

  const cors = split(get('CORS_ORIGINS'));
  for (const origin of cors) {
    if (!isOrigin(origin))
      fail('CORS_ORIGINS', `'${origin}' is not an origin such as https://console.example.com (* is refused)`);
  }
  const proxies = split(get('TRUSTED_PROXIES'));
  for (const proxy of proxies) {
    if (!isNetwork(proxy)) fail('TRUSTED_PROXIES', `'${proxy}' is neither an address nor a CIDR range`);
  }
  const flag = (name: string): boolean => {
    const value = get(name).toLowerCase();
    if (!['true', 'false', '1', '0'].includes(value)) fail(name, 'must be true or false');
    return value === 'true' || value === '1';
  };
  const logLevel = get('LOG_LEVEL').toLowerCase();
  const level = levels.find((known) => known === logLevel);
  if (!level) fail('LOG_LEVEL', `must be one of ${levels.join(', ')}`);

  const mongoUrl = get('MONGODB_URL');
  const redisUrl = get('REDIS_URL');
  if ((mongoUrl === '') !== (redisUrl === ''))
    fail('MONGODB_URL, REDIS_URL', 'set both (a cluster) or neither (embedded)');
  if (mongoUrl !== '' && secret === '')
    fail('SECRET_KEY', 'must be set in a cluster: every node needs the same one');

  const clusterName = get('CLUSTER_NAME');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(clusterName))
    fail('CLUSTER_NAME', 'must be 1 to 64 letters, digits, _ or -');

  const reserve = get('DISK_RESERVE_BYTES');
  if (!/^\d{0,15}$/.test(reserve)) fail('DISK_RESERVE_BYTES', 'must be a whole number of bytes, or empty');

  const headers = names('WIRE_AGENT_ID_HEADERS');
  const cookie = get('WIRE_SESSION_COOKIE');
  const signatureHeader = get('WIRE_SIGNATURE_HEADER');
  for (const [name, value] of [
    ...headers.map((header): [string, string] => ['WIRE_AGENT_ID_HEADERS', header]),
    ['WIRE_SESSION_COOKIE', cookie],
    ['WIRE_SIGNATURE_HEADER', signatureHeader],
  ] as const) {
    if (!token.test(value)) fail(name, `'${value}' is not a valid name for a header or cookie`);
  }
  const keyPrefix = get('WIRE_KEY_PREFIX');
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(keyPrefix))
    fail('WIRE_KEY_PREFIX', 'must be 1 to 32 letters, digits, _ or -');
  const encoding = get('WIRE_SIGNATURE_ENCODING').toLowerCase();
  if (encoding !== 'hex' && encoding !== 'base64') fail('WIRE_SIGNATURE_ENCODING', 'must be hex or base64');

  const config: Config = {
    host: get('HOST'),
    port,
    baseUrl,
    dataDir: get('DATA_DIR'),
    secretKey: secret === '' ? null : secret,
    admin: email === '' ? null : { email: email.toLowerCase(), password },
    setupToken: setupToken || null,
    operatorToken: operator || null,
    operatorTokens: operatorTokens === 'on',
    sessionTtlMs: int('SESSION_TTL_HOURS', 1, 168) * 3_600_000,
    loginAttempts: int('RATE_LIMIT_MAX_ATTEMPTS', 1, 100_000),
    loginWindowMs: int('RATE_LIMIT_WINDOW_SECONDS', 1, 86_400) * 1000,
    approvalsPerMinute: int('APPROVALS_PER_MINUTE', 1, 1_000_000),
    ingestEventsPerMinute: int('INGEST_EVENTS_PER_MINUTE', 1, 999_999_999),
    newAgentsPerMinute: int('NEW_AGENTS_PER_MINUTE', 1, 100_000_000),
    maxAgents: int('MAX_AGENTS', 1, 100_000_000),
    corsOrigins: cors,
    trustedProxies: proxies,
    allowPrivateOutbound: flag('ALLOW_PRIVATE_OUTBOUND'),
    openApiPublic: flag('OPENAPI_PUBLIC'),
    logLevel: level ?? 'info',
    drainSeconds: int('DRAIN_SECONDS', 0, 300),
    diskReserveBytes: reserve === '' ? null : Number(reserve),
    cluster: mongoUrl === '' || redisUrl === '' ? null : { mongoUrl, redisUrl, name: clusterName },
    wire: {
      agentIdHeaders: headers.map((header) => header.toLowerCase()),
      sessionCookie: cookie,
      signatureHeader,
      keyPrefix,
      apiVersions: names('WIRE_API_VERSIONS'),
      bundleKinds: names('WIRE_BUNDLE_KINDS'),
      rulesetKinds: names('WIRE_RULESET_KINDS'),
      signatureEncoding: encoding === 'base64' ? 'base64' : 'hex',
    },
    quotas: {
      sessionBytes: int('SESSION_VALUES_MAX_BYTES', 0, maxQuota),
      sessionKeys: int('SESSION_VALUES_MAX_KEYS', 0, maxQuota),
      largeArgsBytes: int('LARGE_ARGUMENTS_MAX_BYTES', 0, maxQuota),
      largeArgsDays: int('LARGE_ARGUMENTS_DAYS', 0, 36_500),
    },
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** What the commands that work on a data folder need; other settings may be wrong without stopping them. */
export interface FolderSettings {
  readonly dataDir: string;
  readonly secretKey: string | null;
  /** True when the data is in MongoDB and Redis instead. */
  readonly isCluster: boolean;
}

export function readFolderSettings(env: Environment = process.env): FolderSettings {
  const get = reader(env);
  return {
    dataDir: get('DATA_DIR'),
    secretKey: get('SECRET_KEY') || null,
    isCluster: get('MONGODB_URL') !== '',
  };
}

/** The text of `--help`. */
export function helpText(): string {
  const width = Math.max(...settings.map((s) => s.name.length));
  const lines = settings.map(
    (s) => `  ${s.name.padEnd(width)}  ${s.help}${s.fallback === '' ? '' : ` [${s.fallback}]`}`,
  );
  return [
    'Reeve: a real-time hub for governed AI agents.',
    '',
    'Usage: reeve [serve]           start the hub',
    '       reeve backup [FILE]     back up its data folder, while it runs or not',
    '       reeve restore FILE      put a back-up into a data folder',
    '       reeve COMMAND --help    more about a command',
    '       reeve --print-openapi   print the OpenAPI document',
    '',
    'From the sources, `npm start` is `reeve serve`, and `npm start -- backup` is `reeve backup`.',
    '',
    'Settings are environment variables [default]:',
    ...lines,
    '',
  ].join('\n');
}
