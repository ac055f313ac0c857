// The table of settings: name, default and a line of help each. `readConfig` (src/config.ts) reads and checks them.

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
    'What first-run setup must present (field setup_token or header X-Setup-Token), 16 characters or more; ' +
      'without one, and listening to other machines, the hub prints one for them',
  ),
  setting(
    'OPERATOR_TOKEN',
    '',
    'When set, enables /api/v1/operator/* for further tenants and users; 32 characters or more',
  ),
  setting(
    'OIDC_ISSUER',
    '',
    'Identity provider whose tokens the API under /v1 takes, exactly as they name it',
  ),
  setting(
    'OIDC_AUDIENCE',
    '',
    'What its tokens for this hub are for, comma separated; needed with OIDC_ISSUER',
  ),
  setting('OIDC_JWKS_URL', '', 'Where its keys are; when absent where its discovery document says'),
  setting(
    'OIDC_WORKSPACE_CLAIM',
    '',
    'Claims that name the workspace, comma separated, the first that is there counts [workspace_id,org_id,o.id]',
  ),
  setting(
    'OIDC_ROLE_CLAIM',
    '',
    'Claims that hold the role or a list of roles, comma separated; the strongest counts [role,org_role,o.rol,roles]',
  ),
  setting(
    'OIDC_ROLE_MAP',
    '',
    'JSON of words in those claims and the role that each stands for: viewer, operator, admin',
  ),
  setting('OIDC_DEFAULT_ROLE', '', 'Role of who has none of these; when absent they are refused'),
  setting(
    'AUTO_PROVISION',
    'off',
    'on: the first token of an admin of a workspace that nobody linked makes a tenant for it',
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
    'RUN_STALE_SECONDS',
    '900',
    'A run that is open and has had no activity for so long is shown as stale',
  ),
  setting(
    'AGENT_STALE_SECONDS',
    '900',
    'An agent without a stream that was not heard of for so long is shown as stale',
  ),
  setting(
    'AUDIT_RETENTION_DAYS',
    '0',
    'Days after which entries of the audit chain go, as far as a signed head covers them; 0 keeps all',
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
  setting(
    'ALLOW_PRIVATE_OUTBOUND',
    'false',
    'true lets outbound calls reach loopback (http too) and private addresses',
  ),
  setting(
    'OUTBOUND_ALLOW',
    '',
    'Private targets that outbound calls may reach all the same, http too: host:port, comma separated',
  ),
  setting('CHAT_BOT_API_URL', 'https://api.telegram.org', 'API of bot chats'),
  setting('WORKSPACE_CHAT_API_URL', 'https://slack.com/api', 'API of workspace chats'),
  setting('COMMUNITY_CHAT_API_URL', 'https://discord.com/api/v10', 'API of community chats'),
  setting(
    'CHAT_BOT_SECRET_HEADERS',
    'X-Chat-Bot-Secret-Token,X-Telegram-Bot-Api-Secret-Token',
    'Header names in which a bot chat may present the secret of its callbacks, comma separated',
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
    'Base address of local (chat completions); OUTBOUND_ALLOW must name its host and port',
  ),
  setting(
    'AI_PRICES',
    '',
    'What models cost where the provider does not say it, USD for a million tokens, JSON: {"model": {"input": 3, "output": 15}}',
  ),
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
  setting(
    'HTTP_SERVER',
    'auto',
    "native (uWebSockets.js), node (Node's own, slower), or auto: native where it loads",
  ),
  setting('LOG_LEVEL', 'info', 'debug, info, warn, error or silent'),
  setting('DRAIN_SECONDS', '5', 'On SIGTERM, streams are ended spread over this many seconds (0 to 300)'),
  setting(
    'DISK_RESERVE_BYTES',
    '',
    'Bytes of the disk of DATA_DIR that events leave free for decisions; 0 for none; when absent 5 % of it, 4 ' +
      'MiB to 512 MiB (embedded mode)',
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
  setting('WIRE_ACTION_PREFIX', 'reeve', 'What the ids of buttons in chats begin with'),
  setting(
    'WIRE_API_VERSIONS',
    'service/v1',
    'apiVersions accepted in YAML, comma separated; the first is emitted',
  ),
  setting('WIRE_BUNDLE_KINDS', 'ContractBundle', 'Kinds accepted for bundles; the first is emitted'),
  setting('WIRE_RULESET_KINDS', 'Ruleset', 'Kinds accepted for rulesets; the first is emitted'),
  setting('WIRE_SIGNATURE_ENCODING', 'hex', 'Encoding of signature in contract_update: hex or base64'),
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
    '       reeve backup [FILE]     back up its data folder, while it runs or not',
    '       reeve restore FILE      put a back-up into a data folder',
    '       reeve login-link        sign a person in once, by a link',
    '       reeve check | test | verify | gate | mcp   what reeve-agent does: contracts and exports, without a hub',
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
