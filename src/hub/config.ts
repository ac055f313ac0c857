// The settings, read from environment variables: the one reader of process.env. All errors are reported at once, in
// plain language.
import type { MetricsExportSettings } from '../../adapters/otel/metrics.ts';
import type { TracingSettings } from '../../adapters/otel/tracer.ts';
import { type AiAddresses, addressesOf } from '../assistant/record.ts';
import { hourMs } from '../shared/duration.ts';
import { HubError } from '../shared/error.ts';
import type { LogLevel } from '../shared/ports/log.ts';
import type { Settings } from '../shared/use-case-ports.ts';
import { isNetwork, isOrigin, isRoot, isTarget } from './addresses.ts';
import { aiPricesOf } from './ai-prices.ts';
import { withConfigFile } from './config-file.ts';
import { type Environment, isSecret, misspelledSettings, withSecretFiles } from './environment.ts';
import { type MetricsSettings, readMetricsSettings } from './metrics/settings.ts';
import { readOidc } from './oidc-settings.ts';
import { reader, SettingReader } from './setting-reader.ts';
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
  /** True if GET /api/openapi.json answers without a login or key. */
  readonly openApiPublic: boolean;
  /** HTTP server to start. */
  readonly httpServer: HttpServerChoice;
  /** The base address of each provider of AI assistance. */
  readonly aiAddresses: AiAddresses;
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
export class ConfigError extends HubError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super('unprocessable', problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Bytes: a pebibyte. */
const maxQuota = 2 ** 50;
const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const httpServers = ['auto', 'native', 'node'] as const;
export type HttpServerChoice = (typeof httpServers)[number];

function readBaseUrl({ fail }: SettingReader, env: Environment, port: number): string {
  const text = env.BASE_URL?.trim() ?? '';
  if (text === '') return `http://localhost:${port}`;
  const url = text.replace(/(?<!\/)\/+$/, '');
  if (!/^https?:\/\/[^\s/]+/.test(url) || !URL.canParse(url))
    fail('BASE_URL', 'must be an http or https URL');
  else if (!isRoot(new URL(url)))
    fail('BASE_URL', 'must have no path, query or credentials, because the hub serves at the root of a host');
  return url;
}

function readAdmin({ get, fail }: SettingReader, env: Environment): Config['admin'] {
  const email = get('ADMIN_EMAIL');
  const password = env.ADMIN_PASSWORD ?? '';
  if ((email === '') !== (password === ''))
    fail('ADMIN_EMAIL, ADMIN_PASSWORD', 'must both be set, or neither');
  if (email !== '' && !/^[^\s@]+@[^\s@]+$/.test(email)) fail('ADMIN_EMAIL', 'must be an e-mail address');
  if (password !== '' && (password.length < 12 || password.length > 1024)) {
    fail('ADMIN_PASSWORD', 'must have 12 to 1024 characters');
  }
  return email === '' ? null : { email: email.toLowerCase(), password };
}

function readSignIn(read: SettingReader, baseUrl: string) {
  const oidc = readOidc(read.get, read.fail, baseUrl);
  const passwordLogin = read.flag('PASSWORD_LOGIN');
  if (!passwordLogin && !oidc?.login) {
    read.fail('PASSWORD_LOGIN', 'can be off only with OIDC_CLIENT_ID: nobody could sign in');
  }
  return {
    oidc,
    passwordLogin,
    oidcSessionMs: read.int('OIDC_SESSION_HOURS', 1, 168) * hourMs,
    sessionTtlMs: read.int('SESSION_TTL_HOURS', 1, 168) * hourMs,
    loginAttempts: read.int('RATE_LIMIT_MAX_ATTEMPTS', 1, 100_000),
    loginWindowMs: read.int('RATE_LIMIT_WINDOW_SECONDS', 1, 86_400) * 1000,
  };
}

function readCluster(read: SettingReader, secretKey: string | null): Config['cluster'] {
  const { get, fail } = read;
  const mongoUrl = get('MONGODB_URL');
  const redisUrl = get('REDIS_URL');
  if ((mongoUrl === '') !== (redisUrl === ''))
    fail('MONGODB_URL, REDIS_URL', 'must both be set (a cluster), or neither (embedded)');
  if (mongoUrl !== '' && !/^mongodb(\+srv)?:\/\/./.test(mongoUrl))
    fail('MONGODB_URL', 'must begin with mongodb:// or mongodb+srv://');
  if (redisUrl !== '' && (!/^rediss?:\/\/./.test(redisUrl) || !URL.canParse(redisUrl)))
    fail('REDIS_URL', 'must be a URL that begins with redis:// or, with TLS, rediss://');
  if (mongoUrl !== '' && secretKey === null)
    fail('SECRET_KEY', 'must be set in a cluster, to the same value on every node');
  const name = read.text('CLUSTER_NAME', /^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -');
  return mongoUrl === '' || redisUrl === '' ? null : { mongoUrl, redisUrl, name };
}

function readAi(read: SettingReader): Pick<Config, 'aiAddresses' | 'aiPrices'> {
  const aiAddresses = addressesOf((provider) => read.address(`AI_${provider.toUpperCase()}_URL`));
  try {
    return { aiAddresses, aiPrices: aiPricesOf(read.get('AI_PRICES')) };
  } catch {
    const requirement =
      'must be JSON such as {"model": {"input": 3, "output": 15}}, USD for a million tokens';
    read.fail('AI_PRICES', requirement);
    return { aiAddresses, aiPrices: {} };
  }
}

function readWire(read: SettingReader): Config['wire'] {
  const word = /^[A-Za-z0-9_-]{1,32}$/;
  const requirement = 'must be 1 to 32 letters, digits, _ or -';
  const keyPrefix = read.text('WIRE_KEY_PREFIX', word, requirement);
  const tokenPrefix = read.text('WIRE_TOKEN_PREFIX', word, requirement);
  if (tokenPrefix.startsWith(keyPrefix) || keyPrefix.startsWith(tokenPrefix))
    read.fail('WIRE_TOKEN_PREFIX', 'must not begin with WIRE_KEY_PREFIX, nor WIRE_KEY_PREFIX with it');
  const encoding = read.get('WIRE_SIGNATURE_ENCODING').toLowerCase();
  if (encoding !== 'hex' && encoding !== 'base64')
    read.fail('WIRE_SIGNATURE_ENCODING', 'must be hex or base64');
  return {
    agentIdHeaders: read.headers('WIRE_AGENT_ID_HEADERS'),
    sessionCookie: read.headerOrCookie('WIRE_SESSION_COOKIE'),
    signatureHeader: read.headerOrCookie('WIRE_SIGNATURE_HEADER'),
    keyPrefix,
    tokenPrefix,
    actionPrefix: read.text(
      'WIRE_ACTION_PREFIX',
      /^[A-Za-z0-9-]{1,32}$/,
      'must be 1 to 32 letters, digits or -',
    ),
    apiVersions: read.names('WIRE_API_VERSIONS'),
    bundleKinds: read.names('WIRE_BUNDLE_KINDS'),
    rulesetKinds: read.names('WIRE_RULESET_KINDS'),
    signatureEncoding: encoding === 'base64' ? 'base64' : 'hex',
  };
}

const readOutbound = (read: SettingReader) => ({
  allowPrivateOutbound: read.flag('ALLOW_PRIVATE_OUTBOUND'),
  outboundAllow: read
    .list(
      'OUTBOUND_ALLOW',
      (target) => isTarget(target.toLowerCase()),
      'is not a host:port such as models.internal:11434',
    )
    .map((target) => target.toLowerCase()),
  chatBotUrl: read.url('CHAT_BOT_API_URL'),
  workspaceChatUrl: read.url('WORKSPACE_CHAT_API_URL'),
  communityChatUrl: read.url('COMMUNITY_CHAT_API_URL'),
  chatBotSecretHeaders: read.headers('CHAT_BOT_SECRET_HEADERS'),
});

const readServer = (read: SettingReader) => ({
  host: read.get('HOST'),
  dataDir: read.get('DATA_DIR'),
  corsOrigins: read.list(
    'CORS_ORIGINS',
    isOrigin,
    'is not an origin such as https://console.example.com (* is refused)',
  ),
  trustedProxies: read.list('TRUSTED_PROXIES', isNetwork, 'is neither an address nor a CIDR range'),
  openApiPublic: read.flag('OPENAPI_PUBLIC'),
  httpServer: read.word('HTTP_SERVER', httpServers) ?? 'auto',
  logLevel: read.word('LOG_LEVEL', levels) ?? 'info',
  drainSeconds: read.int('DRAIN_SECONDS', 0, 300),
});

const readLimits = (read: SettingReader) => ({
  approvalsPerMinute: read.int('APPROVALS_PER_MINUTE', 1, 1_000_000),
  ingestEventsPerMinute: read.int('INGEST_EVENTS_PER_MINUTE', 1, 999_999_999),
  newAgentsPerMinute: read.int('NEW_AGENTS_PER_MINUTE', 1, 100_000_000),
  runStaleMs: read.int('RUN_STALE_SECONDS', 1, 31_536_000) * 1000,
  auditRetentionDays: read.int('AUDIT_RETENTION_DAYS', 0, 36_500),
  agentStaleMs: read.int('AGENT_STALE_SECONDS', 1, 31_536_000) * 1000,
  maxAgents: read.int('MAX_AGENTS', 1, 100_000_000),
  quotas: {
    sessionBytes: read.int('SESSION_VALUES_MAX_BYTES', 0, maxQuota),
    sessionKeys: read.int('SESSION_VALUES_MAX_KEYS', 0, maxQuota),
    largeArgsBytes: read.int('LARGE_ARGUMENTS_MAX_BYTES', 0, maxQuota),
    largeArgsDays: read.int('LARGE_ARGUMENTS_DAYS', 0, 36_500),
  },
});

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
  const env = withSecretFiles(withConfigFile(variables, fail).variables, fail);
  const read = new SettingReader(env, fail);
  const port = read.int('PORT', 0, 65535);
  const baseUrl = readBaseUrl(read, env, port);
  const secretKey = read.secret('SECRET_KEY', 32);
  const reserve = read.text('DISK_RESERVE_BYTES', /^\d{0,15}$/, 'must be a whole number of bytes, or empty');
  const config: Config = {
    port,
    baseUrl,
    secretKey,
    admin: readAdmin(read, env),
    setupToken: read.secret('SETUP_TOKEN', 16),
    operatorToken: read.secret('OPERATOR_TOKEN', 32),
    operatorTokens: read.flag('OPERATOR_TOKENS'),
    ...readServer(read),
    ...readOutbound(read),
    ...readSignIn(read, baseUrl),
    cluster: readCluster(read, secretKey),
    diskReserveBytes: reserve === '' ? null : Number(reserve),
    ...readAi(read),
    wire: readWire(read),
    ...readLimits(read),
    metrics: readMetricsSettings(read.get, fail, port),
    tracing: readTracingSettings(read.get, fail),
    metricsExport: readMetricsExport(read.get, fail),
    warnings: misspelledSettings(variables),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Settings for the commands that work on a data folder; other settings may be wrong without stopping them. */
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

/** Source of a setting's value. */
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
