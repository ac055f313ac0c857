// `reeve serve`: the hub itself. Settings, start, first-run instructions, signals; hub/hub.ts puts the parts
// together.

import { type Config, ConfigError, helpText, readConfig } from '../config.ts';
import { folderFailure } from '../folder-failure.ts';
import { type RunningHub, startHub } from '../hub.ts';
import { openApiFor } from '../openapi.ts';
import { endSignals } from './end-signals.ts';
import { nodeNotice } from './node-support.ts';
import { print, say, UsageError } from './output.ts';

/** Next steps for a person who has never seen the hub; printed at start until there is an admin. */
function firstRun(url: string, { setupToken, wire, host }: Config, printed: string | null): string {
  const agentId = wire.agentIdHeaders[0] ?? 'x-service-agent-id';
  const token = setupToken !== null ? " \\\n       -H 'X-Setup-Token: <the SETUP_TOKEN you set>'" : '';
  const warning =
    printed === null
      ? ''
      : `
WARNING: this hub has no admin yet, SETUP_TOKEN is not set, and it listens on ${host}, which other machines may reach.
The first person to set it up becomes its admin. Setup from this machine needs no token. Setup from another machine,
through a proxy or into a container needs this header:

     X-Setup-Token: ${printed}
`;
  return `
${warning}
This hub has no admin yet. Open ${url}/ in a browser, or run these commands in another terminal:

  1. Create the first admin:
     curl -sS ${url}/api/v1/setup -H 'X-Requested-With: curl' -H 'Content-Type: application/json'${token} \\
       -d '{"email":"you@example.com","password":"at least twelve characters"}'

  2. Sign in:
     curl -sS -c cookies ${url}/api/v1/auth/login -H 'X-Requested-With: curl' -H 'Content-Type: application/json' \\
       -d '{"email":"you@example.com","password":"at least twelve characters"}'

  3. Create an API key for your agents (only this answer contains it):
     curl -sS -b cookies ${url}/api/v1/keys -H 'X-Requested-With: curl' -H 'Content-Type: application/json' \\
       -d '{"env":"production","label":"first agent"}'

  4. Connect an agent, and keep the stream open:
     curl -N '${url}/api/v1/stream?env=production' -H 'Authorization: Bearer <the key>' -H '${agentId}: agent-1'

docs/getting-started.md continues with a bundle, a deployment, events and an approval. API reference: ${url}/api/openapi.json
`;
}

/** The settings. @throws UsageError with every problem */
function configOf(): Config {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.problems.map((problem) => `  ${problem}`).join('\n');
    throw new UsageError(
      `The hub cannot start with these settings:\n${problems}\nCorrect them; --help lists all settings.`,
    );
  }
}

/** Ends the hub by signals. One that comes during the start waits for its end, and a second one does not. */
function stopBySignals(starting: Promise<RunningHub>, drainSeconds: number): void {
  let [hasStarted, isStopping] = [false, false];
  const stop = async (signal: string): Promise<void> => {
    if (isStopping) {
      if (!hasStarted) process.exit(1);
      return;
    }
    isStopping = true;
    if (!hasStarted) say(`${signal}: the hub ends as soon as it has started; once more to end it at once`);
    // The start reports its own failure.
    const hub = await starting.catch(() => null);
    if (hub === null) return;
    say(`${signal}: completing acknowledged work and ending streams over ${drainSeconds} s`);
    try {
      await hub.stop();
      process.exit(0);
    } catch (error) {
      say(`The hub did not stop cleanly: ${String(error)}`);
      process.exit(1);
    }
  };
  starting.then(
    () => {
      hasStarted = true;
    },
    () => {},
  );
  for (const signal of endSignals) process.on(signal, () => void stop(signal));
}

/** Starts the hub, which runs until a signal ends it. */
export async function serve(args: readonly string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) return print(helpText().trimEnd());
  if (args.includes('--print-openapi')) return print(openApiFor(readConfig({})).trimEnd());
  if (args.length > 0) {
    throw new UsageError(
      `Unknown argument ${args[0]}. Settings are environment variables; --help lists them.`,
    );
  }
  const config = configOf();
  const starting = startHub(config);
  stopBySignals(starting, config.drainSeconds);
  const hub = await starting.catch((error: unknown) => {
    throw folderFailure(error, `The data folder ${config.dataDir}`);
  });
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  const listening = `Reeve is listening on http://${host}:${hub.port}`;
  const local = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : host;
  const notes = [...config.warnings, hub.serverNote, nodeNotice(process.versions.node)];
  for (const note of notes) if (note !== null) say(note);
  const setUp = await hub.isSetUp();
  say(setUp ? listening : listening + firstRun(`http://${local}:${hub.port}`, config, hub.printedSetupToken));
}
