// The table of settings: name, default and a line of help each. `readConfig` (src/hub/config.ts) reads and checks them.

interface Setting {
  readonly name: string;
  readonly fallback: string;
  readonly help: string;
}

const setting = (name: string, fallback: string, help: string): Setting => ({ name, fallback, help });

/** Every setting, in the order of `--help`. */
export const settings: readonly Setting[] = [
  setting(
    'REEVE_CONFIG',
    '',
    'YAML file with settings by these names; --config FILE sets it; the environment wins',
  ),
  setting('PORT', '8000', 'Port to listen on; 0 takes a free one'),
  setting('HOST', '0.0.0.0', 'Address to listen on'),
  setting(
    'BASE_URL',
    '',
    'Address at which people and agents reach the hub; https makes cookies Secure; if absent, http://localhost:<PORT>',
  ),
  setting('DATA_DIR', './data', 'Folder with the embedded store and the generated secrets'),
  setting(
    'SECRET_KEY',
    '',
    'Master secret, 32 characters or more; if absent, generated and stored in DATA_DIR (embedded mode)',
  ),
  setting('ADMIN_EMAIL', '', 'With ADMIN_PASSWORD: creates the first admin at startup if no user exists'),
  setting('ADMIN_PASSWORD', '', 'See ADMIN_EMAIL; 12 characters or more'),
  setting(
    'SETUP_TOKEN',
    '',
    'Token for first-run setup (field setup_token or header X-Setup-Token), 16 characters or more; ' +
      'if absent, a hub that listens to other machines prints one',
  ),
  setting(
    'OPERATOR_TOKEN',
    '',
    'Enables /api/v1/operator/* for further tenants and users; 32 characters or more',
  ),
  setting(
    'METRICS_TOKEN',
    '',
    'Enables /metrics for Prometheus on PORT, with this bearer token; 16 characters or more',
  ),
  setting('METRICS_PORT', '', 'Serves /metrics on a port of its own, without a token; not PORT'),
  setting('METRICS_HOST', '127.0.0.1', 'Address for METRICS_PORT'),
  setting(
    'METRICS_TENANTS',
    '0',
    'Tenants with a series of their own in reeve_tenant_events_total; the others are `other` (0 to 100)',
  ),
  setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    '',
    'Sends traces by OTLP over HTTP (JSON) to this address and /v1/traces',
  ),
  setting('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '', 'The same, as a whole address'),
  setting('OTEL_METRICS_EXPORTER', 'none', 'otlp sends the metrics too, to the address and /v1/metrics'),
  setting('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', '', 'Where metrics are sent, as a whole address'),
  setting(
    'OTEL_METRIC_EXPORT_INTERVAL',
    '60000',
    'Time between two readings of the metrics, in milliseconds',
  ),
  setting('OTEL_EXPORTER_OTLP_HEADERS', '', 'Headers for the receiver, name=value, comma separated'),
  setting('OTEL_SERVICE_NAME', 'reeve', 'Name of the hub at the receiver'),
  setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    '',
    'Attributes of the hub at the receiver, name=value, comma separated',
  ),
  setting(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    'Which requests are traced: always_on, always_off or traceidratio, each also with parentbased_ before it',
  ),
  setting('OTEL_TRACES_SAMPLER_ARG', '1', 'Part of the requests for traceidratio, 0 to 1'),
  setting('OTEL_SDK_DISABLED', 'false', 'Turns traces and metrics by OTLP off'),
  setting(
    'OIDC_ISSUER',
    '',
    'Identity provider whose tokens the API under /v1 accepts, exactly as in their iss claim',
  ),
  setting(
    'OIDC_AUDIENCE',
    '',
    'Audiences of its tokens for the API under /v1, comma separated; required unless OIDC_CLIENT_ID is set',
  ),
  setting('OIDC_JWKS_URL', '', 'Address of its keys; default: from its discovery document'),
  setting(
    'OIDC_WORKSPACE_CLAIM',
    '',
    'Claims with the workspace, comma separated; the first present one counts [workspace_id,org_id,o.id]',
  ),
  setting(
    'OIDC_ROLE_CLAIM',
    '',
    'Claims with a role or a list of roles, comma separated; the strongest counts [role,org_role,o.rol,roles]',
  ),
  setting(
    'OIDC_ROLE_MAP',
    '',
    'JSON that maps words in those claims to roles (viewer, approver, operator, admin), operator@staging, or lists',
  ),
  setting('OIDC_DEFAULT_ROLE', '', 'Role for people without any of these; if absent, they are refused'),
  setting('OIDC_CLIENT_ID', '', 'Client of the console at the identity provider; enables its sign-in'),
  setting('OIDC_CLIENT_SECRET', '', 'Secret of that client'),
  setting('OIDC_NAME', 'single sign-on', 'Name of the identity provider on the sign-in page'),
  setting(
    'OIDC_ROLES',
    'claims',
    'Roles at sign-in to the console: from the claims, or given here; tokens (OIDC_AUDIENCE) have those of their claims',
  ),
  setting('OIDC_SESSION_HOURS', '12', 'Longest life of a session through the identity provider (1 to 168)'),
  setting('PASSWORD_LOGIN', 'on', 'off: people sign in through the identity provider alone'),
  setting(
    'AUTO_PROVISION',
    'off',
    'on: the first token from an admin of an unlinked workspace creates a tenant for it',
  ),
  setting('OPERATOR_TOKENS', 'on', 'off: admins cannot create tokens for the API under /v1'),
  setting('SESSION_TTL_HOURS', '24', 'Hours until an unused login expires (1 to 168)'),
  setting(
    'RATE_LIMIT_MAX_ATTEMPTS',
    '10',
    'Logins, tried setup tokens and calls with the operator token, per client address (IPv6: /64) and window',
  ),
  setting('RATE_LIMIT_WINDOW_SECONDS', '300', 'The login window, in seconds'),
  setting('APPROVALS_PER_MINUTE', '10', 'Approval requests from an agent in a minute'),
  setting(
    'INGEST_EVENTS_PER_MINUTE',
    '6000000',
    "Audit events for a tenant's environment in a minute; more get 429 with Retry-After",
  ),
  setting(
    'NEW_AGENTS_PER_MINUTE',
    '20000',
    'New agents from one API key in a minute; more are served but not registered',
  ),
  setting('RUN_STALE_SECONDS', '900', 'Time without activity after which an open run is shown as stale'),
  setting(
    'AGENT_STALE_SECONDS',
    '900',
    'Time without activity after which an agent without a stream is shown as stale',
  ),
  setting(
    'AUDIT_RETENTION_DAYS',
    '0',
    'Days after which the hub removes audit chain entries that a signed head covers; 0 keeps all',
  ),
  setting(
    'MAX_AGENTS',
    '200000',
    'Registered agents in a tenant; agents idle for 7 days without an assignment do not count',
  ),
  setting(
    'CORS_ORIGINS',
    '',
    'Browser origins that can call the hub, in addition to BASE_URL, comma separated; * is refused',
  ),
  setting(
    'TRUSTED_PROXIES',
    '',
    'Addresses or CIDR ranges whose X-Forwarded-For the hub trusts, comma separated',
  ),
  setting(
    'ALLOW_PRIVATE_OUTBOUND',
    'false',
    'true: outbound calls can reach loopback (also over http) and private addresses',
  ),
  setting(
    'OUTBOUND_ALLOW',
    '',
    'Private targets that outbound calls can reach, also over http: host:port, comma separated',
  ),
  setting('CHAT_BOT_API_URL', 'https://api.telegram.org', 'Address of the API for bot chats'),
  setting('WORKSPACE_CHAT_API_URL', 'https://slack.com/api', 'Address of the API for workspace chats'),
  setting('COMMUNITY_CHAT_API_URL', 'https://discord.com/api/v10', 'Address of the API for community chats'),
  setting(
    'CHAT_BOT_SECRET_HEADERS',
    'X-Chat-Bot-Secret-Token,X-Telegram-Bot-Api-Secret-Token',
    'Header names that can contain the secret of a bot chat callback, comma separated',
  ),
  setting(
    'AI_HOSTED_A_URL',
    'https://api.anthropic.com/v1',
    'Base address of the AI provider hosted_a (messages)',
  ),
  setting('AI_HOSTED_B_URL', 'https://api.openai.com/v1', 'Base address of hosted_b (chat completions)'),
  setting('AI_ROUTER_URL', 'https://openrouter.ai/api/v1', 'Base address of router (chat completions)'),
  setting(
    'AI_LOCAL_URL',
    'http://localhost:11434/v1',
    'Base address of local (chat completions); OUTBOUND_ALLOW must contain its host and port',
  ),
  setting(
    'AI_PRICES',
    '',
    'Prices of models whose provider reports none, USD for a million tokens, JSON: {"model": {"input": 3, "output": 15}}',
  ),
  setting(
    'SESSION_VALUES_MAX_BYTES',
    '268435456',
    'Bytes of session values and their keys in one environment of a tenant',
  ),
  setting(
    'SESSION_VALUES_MAX_KEYS',
    '1000000',
    'Session values in one environment of a tenant; counters can use up to twice as many',
  ),
  setting(
    'LARGE_ARGUMENTS_MAX_BYTES',
    '1073741824',
    'Bytes of approval tool_args over 64 KiB in one environment of a tenant',
  ),
  setting(
    'LARGE_ARGUMENTS_DAYS',
    '90',
    'Days after which the hub removes such tool_args; 0 keeps them (0 to 36500)',
  ),
  setting('OPENAPI_PUBLIC', 'true', 'false: /api/openapi.json needs a login or an API key'),
  setting(
    'HTTP_SERVER',
    'auto',
    "native (uWebSockets.js), node (Node's own, slower), or auto: native if it loads",
  ),
  setting('LOG_LEVEL', 'info', 'debug, info, warn, error or silent'),
  setting(
    'DRAIN_SECONDS',
    '5',
    'Seconds over which streams end after SIGTERM or SIGHUP; the listener stays open until then (0 to 300)',
  ),
  setting(
    'DISK_RESERVE_BYTES',
    '',
    'Bytes of the DATA_DIR disk that events leave free for decisions; 0: none; if absent: 5 % of the disk, 16 ' +
      'MiB to 512 MiB, at most a quarter (embedded mode)',
  ),
  setting('MONGODB_URL', '', 'With REDIS_URL: run as a node of a cluster'),
  setting('REDIS_URL', '', 'See MONGODB_URL'),
  setting('CLUSTER_NAME', 'reeve', 'Prefix of every key in Redis; the same on all nodes of a cluster'),
  setting(
    'WIRE_AGENT_ID_HEADERS',
    'X-Service-Agent-Id',
    'Accepted header names for the agent id, comma separated',
  ),
  setting('WIRE_SESSION_COOKIE', 'service_session', 'Name of the session cookie'),
  setting('WIRE_SIGNATURE_HEADER', 'X-Service-Signature', 'Header with the signature of outbound webhooks'),
  setting('WIRE_KEY_PREFIX', 'svk_', 'Prefix of API keys'),
  setting('WIRE_TOKEN_PREFIX', 'svt_', 'Prefix of tokens of service accounts'),
  setting('WIRE_ACTION_PREFIX', 'reeve', 'Prefix of button ids in chats'),
  setting(
    'WIRE_API_VERSIONS',
    'service/v1',
    'Accepted apiVersions in YAML, comma separated; the hub writes the first',
  ),
  setting('WIRE_BUNDLE_KINDS', 'ContractBundle', 'Accepted kinds of bundles; the hub writes the first'),
  setting('WIRE_RULESET_KINDS', 'Ruleset', 'Accepted kinds of rulesets; the hub writes the first'),
  setting('WIRE_SIGNATURE_ENCODING', 'hex', 'Encoding of the signature in contract_update: hex or base64'),
];

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
    '       reeve backup [FILE]     back up its data folder, even while it runs',
    '       reeve restore FILE      restore a back-up into a data folder',
    '       reeve move              move its data into MongoDB and Redis, for a cluster',
    '       reeve tenant            export a tenant to a file, or import it',
    '       reeve doctor            check the installation before a start, or beside a running hub',
    '       reeve config            show, check or write settings: reeve config --help',
    '       reeve export | diff | apply DIR   contracts as files, from and to a hub',
    '       reeve export-events     copy events into a file or to standard output, and follow them',
    '       reeve login-link        print a link that signs a person in once',
    '       reeve check | test | verify | gate | mcp   the commands of reeve-agent, without a hub',
    '       reeve COMMAND --help    help for a command',
    '       reeve --print-openapi   print the OpenAPI document',
    '',
    'From the sources, `npm start` is `reeve serve`, and `npm start -- backup` is `reeve backup`.',
    '',
    'Settings are environment variables [default], or lines of the YAML file that --config FILE names.',
    'Switches take true, false, on, off, 1 or 0. SECRET_KEY, ADMIN_PASSWORD, SETUP_TOKEN, OPERATOR_TOKEN,',
    'OIDC_CLIENT_SECRET, METRICS_TOKEN, OTEL_EXPORTER_OTLP_HEADERS, MONGODB_URL and REDIS_URL can come from a file:',
    'NAME_FILE=/path.',
    ...lines,
    '',
  ].join('\n');
}
