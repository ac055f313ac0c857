#!/usr/bin/env node
// The process: arguments, settings, start, first-run instructions, signals. bootstrap/hub.ts puts the parts together.
import { openApiFor, startHub } from './bootstrap/hub.ts';
import { startFailure } from './bootstrap/start-failure.ts';
import { type Config, ConfigError, helpText, readConfig } from './config.ts';
import { HubError } from './domain/error.ts';

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

/** What a person who has never seen the hub does next; printed at start until there is an admin. */
function firstRun(url: string, { setupToken, wire, host }: Config, printed: string | null): string {
  const agentId = wire.agentIdHeaders[0] ?? 'x-service-agent-id';
  const token = setupToken !== null ? " \\\n       -H 'X-Setup-Token: <the SETUP_TOKEN you set>'" : '';
  const warning =
    printed === null
      ? ''
      : `
WARNING: nobody has set this hub up yet, it listens on ${host}, which other machines may reach, and SETUP_TOKEN is not set. Whoever sets it
up becomes its admin. A request from this machine needs no token; one from anywhere else, or through a proxy or into a container, needs

     X-Setup-Token: ${printed}
`;
  return `
${warning}
Nobody has set this hub up yet. In another terminal:

  1. Create the first admin:
     curl -sS ${url}/api/v1/setup -H 'X-Requested-With: curl' -H 'Content-Type: application/json'${token} \\
       -d '{"email":"you@example.com","password":"at least twelve characters"}'

  2. Sign in:
     curl -sS -c cookies ${url}/api/v1/auth/login -H 'X-Requested-With: curl' -H 'Content-Type: application/json' \\
       -d '{"email":"you@example.com","password":"at least twelve characters"}'

  3. Make an API key for your agents (it is shown once):
     curl -sS -b cookies ${url}/api/v1/keys -H 'X-Requested-With: curl' -H 'Content-Type: application/json' \\
       -d '{"env":"production","label":"first agent"}'

  4. Connect an agent, and leave it open:
     curl -N '${url}/api/v1/stream?env=production' -H 'Authorization: Bearer <the key>' -H '${agentId}: agent-1'

docs/getting-started.md goes on with a bundle, a deployment, events and an approval. The API: ${url}/api/openapi.json
`;
}

/** What the system refused is one line; anything else is a fault of ours, with the place. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'syscall' in error ? error.message : (error.stack ?? error.message);
}

async function run(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(helpText());
    return;
  }
  if (args.includes('--print-openapi')) {
    process.stdout.write(openApiFor(readConfig({})));
    return;
  }
  if (args.length > 0) {
    say(`Unknown argument ${args[0]}. Settings are environment variables: see --help.`);
    process.exitCode = 2;
    return;
  }
  const config = readConfig();
  const hub = await startHub(config).catch((error: unknown) => {
    throw startFailure(error, config.dataDir);
  });
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  const listening = `Reeve is listening on http://${host}:${hub.port}`;
  const local = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : host;
  const setUp = await hub.isSetUp();
  say(setUp ? listening : listening + firstRun(`http://${local}:${hub.port}`, config, hub.printedSetupToken));

  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    say(`${signal}: finishing what is acknowledged and ending streams over ${config.drainSeconds} s`);
    hub.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        say(`The hub did not stop cleanly: ${String(error)}`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
}

run().catch((error: unknown) => {
  if (error instanceof ConfigError) {
    say(
      `The settings do not fit:\n${error.problems.map((problem) => `  ${problem}`).join('\n')}\nSee npm start -- --help.`,
    );
    process.exit(2);
  }
  say(error instanceof HubError ? error.message : `The hub could not start: ${reason(error)}`);
  process.exit(1);
});
