// The settings, read from environment variables: the one reader of process.env. All errors are told at once, in plain
// words.
import type { MetricsExportSettings } from '../../adapters/otel/metrics.ts';
import type { TracingSettings } from '../../adapters/otel/tracer.ts';
import type { AiPrices, AiProvider } from '../assistant/record.ts';
import { hourMs } from '../shared/duration.ts';
import type { LogLevel } from '../shared/ports/log.ts';
import type { Settings } from '../shared/use-case-ports.ts';
import { isHttpUrl, isNetwork, isOrigin, isRoot, isTarget } from './addresses.ts';
import { aiPricesOf } from './ai-prices.ts';
import { withConfigFile } from './config-file.ts';
import {
  type Environment,
  isSecret,
  misspelledSettings,
  readSwitch,
  switchWords,
  withSecretFiles,
} from './environment.ts';
import { type MetricsSettings, readMetricsSettings } from './metrics/settings.ts';
import { readOidc } from './oidc-settings.ts';
import { settings } from './settings.ts';
import { readMetricsExport, readTracingSettings } from './tracing-settings.ts';

export { helpText, settings } from './settings.ts';

/** The lowest level that is written. */
export type LogThreshold = LogLevel | 'silent';

export interface Config extends Omit<Settings, 'version' | 'setupToken'> {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Null: made and kept in dataDir (embedded mode only). */
  readonly secretKey: string | null;
  readonly admin: { readonly email: string; readonly password: string } | null;
  readonly setupToken: string | null;
  readonly newAgentsPerMinute: number;
  readonly runStaleMs: number;
  readonly agentStaleMs: number;
  /** Days after which entries of the audit chain may go; 0: never. */
  readonly auditRetentionDays: number;
  readonly maxAgents: number;
  readonly corsOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly allowPrivateOutbound: boolean;
  /** Base addresses of the chat platforms' APIs, without a slash at their ends. */
  readonly workspaceChatUrl: string;
  readonly communityChatUrl: string;
  /** `host:port` of private targets that outbound calls may reach all the same. */
  readonly outboundAllow: readonly string[];
  /** Whether GET /api/openapi.json answers without a login or key. */
  readonly openApiPublic: boolean;
  /** Which HTTP server is started. */
  readonly httpServer: HttpServerChoice;
  /** The base address of each provider of AI assistance. */
  readonly aiAddresses: { readonly [P in AiProvider]: string };
  readonly logLevel: LogThreshold;
  readonly metrics: MetricsSettings;
  /** Null: nothing is traced. */
  readonly tracing: TracingSettings | null;
  /** Null: metrics are not sent by OTLP. */
  readonly metricsExport: MetricsExportSettings | null;
  /** A sentence for each variable that is probably a misspelled setting. */
  readonly warnings: readonly string[];
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

const httpServers = ['auto', 'native', 'node'] as const;
export type HttpServerChoice = (typeof httpServers)[number];

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
 * @param variables usually process.env
 * @throws ConfigError naming every wrong variable, what it is and what fits
 */
export function readConfig(variables: Environment = process.env): Config {
  const problems: string[] = [];
  const fail = (name: string, requirement: string): void => {
    problems.push(`${name}: ${requirement}`);
  };
  const layers = withConfigFile(variables, fail);
  const env = withSecretFiles(layers.variables, fail);
  const get = reader(env);
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
      fail(name, 'must contain 1 to 16 names, comma separated, without blanks');
    }
    return list;
  };

  const port = int('PORT', 0, 65535);
  const baseUrlText = env.BASE_URL?.trim() ?? '';
  const baseUrl = (baseUrlText === '' ? `http://localhost:${port}` : baseUrlText).replace(/\/+$/, '');
  if (baseUrlText !== '' && (!/^https?:\/\/[^\s/]+/.test(baseUrl) || !URL.canParse(baseUrl)))
    fail('BASE_URL', 'must be an http or https URL');
  else if (baseUrlText !== '' && !isRoot(new URL(baseUrl)))
    fail('BASE_URL', 'must have no path, query or credentials, because the hub serves at the root of a host');

  const secret = get('SECRET_KEY');
  if (secret !== '' && secret.length < 32) fail('SECRET_KEY', 'must have 32 characters or more');

  const email = get('ADMIN_EMAIL');
  const password = env.ADMIN_PASSWORD ?? '';
  if ((email === '') !== (password === ''))
    fail('ADMIN_EMAIL, ADMIN_PASSWORD', 'must both be set, or neither');
  if (email !== '' && !/^[^\s@]+@[^\s@]+$/.test(email)) fail('ADMIN_EMAIL', 'must be an e-mail address');
  if (password !== '' && (password.length < 12 || password.length > 1024)) {
    fail('ADMIN_PASSWORD', 'must have 12 to 1024 characters');
  }

  const setupToken = get('SETUP_TOKEN');
  if (setupToken !== '' && setupToken.length < 16) fail('SETUP_TOKEN', 'must have 16 characters or more');
  const operator = get('OPERATOR_TOKEN');
  if (operator !== '' && operator.length < 32) fail('OPERATOR_TOKEN', 'must have 32 characters or more');

  const cors = split(get('CORS_ORIGINS'));
  for (const origin of cors) {
    if (!isOrigin(origin))
      fail('CORS_ORIGINS', `'${origin}' is not an origin such as https://console.example.com (* is refused)`);
  }
  const proxies = split(get('TRUSTED_PROXIES'));
  for (const proxy of proxies) {
    if (!isNetwork(proxy)) fail('TRUSTED_PROXIES', `'${proxy}' is neither an address nor a CIDR range`);
  }
  const url = (name: string): string => {
    const value = get(name).replace(/\/+$/, '');
    if (!/^https?:\/\/[^\s/]/.test(value) || !URL.canParse(value)) fail(name, 'must be an http or https URL');
    return value;
  };
  const outboundAllow = split(get('OUTBOUND_ALLOW')).map((target) => target.toLowerCase());
  for (const target of outboundAllow) {
    if (!isTarget(target))
      fail('OUTBOUND_ALLOW', `'${target}' is not a host:port such as models.internal:11434`);
  }
  const flag = (name: string): boolean => {
    const value = readSwitch(get(name));
    if (value === null) fail(name, switchWords);
    return value === true;
  };
  const oidc = readOidc(get, fail, baseUrl);
  const passwordLogin = flag('PASSWORD_LOGIN');
  if (!passwordLogin && !oidc?.login) {
    fail('PASSWORD_LOGIN', 'can be off only with OIDC_CLIENT_ID: nobody could sign in');
  }
  const httpServer = httpServers.find((name) => name === get('HTTP_SERVER').toLowerCase());
  if (!httpServer) fail('HTTP_SERVER', `must be one of ${httpServers.join(', ')}`);
  const logLevel = get('LOG_LEVEL').toLowerCase();
  const level = levels.find((knownLevel) => knownLevel === logLevel);
  if (!level) fail('LOG_LEVEL', `must be one of ${levels.join(', ')}`);

  const mongoUrl = get('MONGODB_URL');
  const redisUrl = get('REDIS_URL');
  if ((mongoUrl === '') !== (redisUrl === ''))
    fail('MONGODB_URL, REDIS_URL', 'must both be set (a cluster), or neither (embedded)');
  if (mongoUrl !== '' && !/^mongodb(\+srv)?:\/\/./.test(mongoUrl))
    fail('MONGODB_URL', 'must begin with mongodb:// or mongodb+srv://');
  if (redisUrl !== '' && (!/^rediss?:\/\/./.test(redisUrl) || !URL.canParse(redisUrl)))
    fail('REDIS_URL', 'must be a URL that begins with redis:// or, with TLS, rediss://');
  if (mongoUrl !== '' && secret === '')
    fail('SECRET_KEY', 'must be set in a cluster, to the same value on every node');

  const clusterName = get('CLUSTER_NAME');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(clusterName))
    fail('CLUSTER_NAME', 'must be 1 to 64 letters, digits, _ or -');

  const reserve = get('DISK_RESERVE_BYTES');
  if (!/^\d{0,15}$/.test(reserve)) fail('DISK_RESERVE_BYTES', 'must be a whole number of bytes, or empty');

  const address = (name: string): string => {
    const value = get(name);
    if (!isHttpUrl(value)) fail(name, 'must be an http or https URL');
    return value;
  };
  let aiPrices: AiPrices = {};
  try {
    aiPrices = aiPricesOf(get('AI_PRICES'));
  } catch {
    fail('AI_PRICES', 'must be JSON such as {"model": {"input": 3, "output": 15}}, USD for a million tokens');
  }

  const headers = names('WIRE_AGENT_ID_HEADERS');
  const secretHeaders = names('CHAT_BOT_SECRET_HEADERS');
  const cookie = get('WIRE_SESSION_COOKIE');
  const signatureHeader = get('WIRE_SIGNATURE_HEADER');
  for (const [name, value] of [
    ...headers.map((header): [string, string] => ['WIRE_AGENT_ID_HEADERS', header]),
    ...secretHeaders.map((header): [string, string] => ['CHAT_BOT_SECRET_HEADERS', header]),
    ['WIRE_SESSION_COOKIE', cookie],
    ['WIRE_SIGNATURE_HEADER', signatureHeader],
  ] as const) {
    if (!token.test(value)) fail(name, `'${value}' is not a valid name for a header or cookie`);
  }
  const keyPrefix = get('WIRE_KEY_PREFIX');
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(keyPrefix))
    fail('WIRE_KEY_PREFIX', 'must be 1 to 32 letters, digits, _ or -');
  const tokenPrefix = get('WIRE_TOKEN_PREFIX');
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(tokenPrefix))
    fail('WIRE_TOKEN_PREFIX', 'must be 1 to 32 letters, digits, _ or -');
  if (tokenPrefix.startsWith(keyPrefix) || keyPrefix.startsWith(tokenPrefix))
    fail('WIRE_TOKEN_PREFIX', 'must not begin with WIRE_KEY_PREFIX, nor WIRE_KEY_PREFIX with it');
  const actionPrefix = get('WIRE_ACTION_PREFIX');
  if (!/^[A-Za-z0-9-]{1,32}$/.test(actionPrefix))
    fail('WIRE_ACTION_PREFIX', 'must be 1 to 32 letters, digits or -');
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
    operatorTokens: flag('OPERATOR_TOKENS'),
    oidc,
    oidcSessionMs: int('OIDC_SESSION_HOURS', 1, 168) * hourMs,
    passwordLogin,
    sessionTtlMs: int('SESSION_TTL_HOURS', 1, 168) * hourMs,
    loginAttempts: int('RATE_LIMIT_MAX_ATTEMPTS', 1, 100_000),
    loginWindowMs: int('RATE_LIMIT_WINDOW_SECONDS', 1, 86_400) * 1000,
    approvalsPerMinute: int('APPROVALS_PER_MINUTE', 1, 1_000_000),
    ingestEventsPerMinute: int('INGEST_EVENTS_PER_MINUTE', 1, 999_999_999),
    newAgentsPerMinute: int('NEW_AGENTS_PER_MINUTE', 1, 100_000_000),
    runStaleMs: int('RUN_STALE_SECONDS', 1, 31_536_000) * 1000,
    auditRetentionDays: int('AUDIT_RETENTION_DAYS', 0, 36_500),
    agentStaleMs: int('AGENT_STALE_SECONDS', 1, 31_536_000) * 1000,
    maxAgents: int('MAX_AGENTS', 1, 100_000_000),
    corsOrigins: cors,
    trustedProxies: proxies,
    allowPrivateOutbound: flag('ALLOW_PRIVATE_OUTBOUND'),
    outboundAllow,
    chatBotUrl: url('CHAT_BOT_API_URL'),
    workspaceChatUrl: url('WORKSPACE_CHAT_API_URL'),
    communityChatUrl: url('COMMUNITY_CHAT_API_URL'),
    chatBotSecretHeaders: secretHeaders.map((header) => header.toLowerCase()),
    openApiPublic: flag('OPENAPI_PUBLIC'),
    httpServer: httpServer ?? 'auto',
    aiAddresses: {
      hosted_a: address('AI_HOSTED_A_URL'),
      hosted_b: address('AI_HOSTED_B_URL'),
      router: address('AI_ROUTER_URL'),
      local: address('AI_LOCAL_URL'),
    },
    aiPrices,
    logLevel: level ?? 'info',
    metrics: readMetricsSettings(get, fail, port),
    tracing: readTracingSettings(get, fail),
    metricsExport: readMetricsExport(get, fail),
    warnings: misspelledSettings(variables),
    drainSeconds: int('DRAIN_SECONDS', 0, 300),
    diskReserveBytes: reserve === '' ? null : Number(reserve),
    cluster: mongoUrl === '' || redisUrl === '' ? null : { mongoUrl, redisUrl, name: clusterName },
    wire: {
      agentIdHeaders: headers.map((header) => header.toLowerCase()),
      sessionCookie: cookie,
      signatureHeader,
      keyPrefix,
      tokenPrefix,
      actionPrefix,
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
  /** As they are set, unchecked. */
  readonly cluster: { readonly mongoUrl: string; readonly redisUrl: string; readonly name: string };
}

export function readFolderSettings(variables: Environment = process.env): FolderSettings {
  const problems: string[] = [];
  const fail = (name: string, requirement: string): void => {
    problems.push(`${name}: ${requirement}`);
  };
  const env = withSecretFiles(withConfigFile(variables, fail).variables, fail);
  if (problems.length > 0) throw new ConfigError(problems);
  const get = reader(env);
  return {
    dataDir: get('DATA_DIR'),
    secretKey: get('SECRET_KEY') || null,
    isCluster: get('MONGODB_URL') !== '',
    cluster: { mongoUrl: get('MONGODB_URL'), redisUrl: get('REDIS_URL'), name: get('CLUSTER_NAME') },
  };
}

/** Where the value of a setting comes from. */
export type SettingSource = 'environment' | 'file' | 'secret_file' | 'default';

export interface SettingInForce {
  readonly name: string;
  /** `***` for a secret that is set. */
  readonly value: string;
  readonly source: SettingSource;
}

/** Address and token for commands that call a hub. */
export const readClientVariables = ({ REEVE_URL = '', REEVE_TOKEN = '' }: Environment = process.env) => ({
  url: REEVE_URL,
  token: REEVE_TOKEN,
});

/**
 * Every setting with its value and source, in the order of `--help`. Values are not checked (`readConfig`).
 * @throws ConfigError for a settings file that cannot be read or has unknown names
 */
export function showSettings(variables: Environment = process.env): readonly SettingInForce[] {
  const problems: string[] = [];
  const layers = withConfigFile(variables, (name, requirement) => problems.push(`${name}: ${requirement}`));
  if (problems.length > 0) throw new ConfigError(problems);
  const isSet = (name: string): boolean => (layers.variables[name] ?? '').trim() !== '';
  return settings.map(({ name, fallback }) => {
    const isFromSecretFile = isSecret(name) && !isSet(name) && isSet(`${name}_FILE`);
    const set = isFromSecretFile || isSet(name);
    const source = !set ? 'default' : layers.file && name in layers.file.variables ? 'file' : 'environment';
    return {
      name,
      value: !set ? fallback : isSecret(name) ? '***' : (layers.variables[name]?.trim() ?? ''),
      source: isFromSecretFile ? 'secret_file' : source,
    };
  });
}

/** Makes a file the source of settings, as the environment variable does. */
export function setConfigFile(path: string): void {
  process.env.REEVE_CONFIG = path;
}
