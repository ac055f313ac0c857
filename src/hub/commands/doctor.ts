// `reeve doctor`: whether an installation will work, before the first start or beside a running hub.
import { parseArgs } from 'node:util';
import { systemClock } from '../../../adapters/node/clock.ts';
import { createSecrets } from '../../../adapters/node/secrets.ts';
import type { Channel } from '../../notification/record.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { checkAddress } from '../doctor/address.ts';
import { attempt, type CheckResult, failure } from '../doctor/check-result.ts';
import { checkFolder } from '../doctor/folder.ts';
import { checkMachine } from '../doctor/machine.ts';
import { checkChannels, checkIssuer } from '../doctor/outside.ts';
import { answer, UsageError } from './output.ts';

const help = `reeve doctor [--url URL] [--deep] [--json]

Checks an installation: settings, data folder, store, MongoDB and Redis, the way through proxies at BASE_URL, identity
provider, channels and back-ups. Run it before the first start or beside a running hub, as the hub's user and with its
settings. It changes nothing and sends no message.

  --url URL   address to check instead of BASE_URL
  --deep      read every page of the store; takes as long as reading the file
  --json      print the findings as JSON
  --help      print this text

Exit code: 0 no failure (warnings are possible), 1 failures, 2 wrong usage. docs/doctor.md describes every check.
`;

const marks: { readonly [O in CheckResult['outcome']]: string } = {
  ok: 'ok      ',
  warning: 'WARNING ',
  failure: 'FAILURE ',
};

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        url: { type: 'string' },
        deep: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message} See reeve doctor --help.`);
  }
}

/** @throws UsageError */
function addressOf(url: string | undefined): string | null {
  if (url === undefined) return null;
  if (!/^https?:\/\/[^\s/]/.test(url) || !URL.canParse(url))
    throw new UsageError('--url needs an http or https URL.');
  return url.replace(/(?<!\/)\/+$/, '');
}

/** State of the stored data: in a folder, or in servers. */
async function storedState(config: Config, deep: boolean) {
  if (!config.cluster) return checkFolder(config, systemClock.now(), deep);
  const { checkServers } = await import('../doctor/servers.ts');
  return { ...(await checkServers(config.cluster, config.secretKey)), secret: config.secretKey };
}

async function findingsOf(url: string | null, deep: boolean): Promise<readonly CheckResult[]> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) =>
      failure('settings', `${problem.replace(/\.$/, '')}.`, 'Correct it; reeve --help lists all settings.'),
    );
  }
  const machine = await checkMachine(config);
  let secret: string | null = null;
  let channels: readonly Channel[] = [];
  const stored = await attempt('store', 'Correct DATA_DIR.', async () => {
    const state = await storedState(config, deep);
    [secret, channels] = [state.secret, state.channels];
    return state.findings;
  });
  // Before the first start there is no secret: this process asks and answers with one of its own.
  const secrets = createSecrets(secret ?? crypto.randomUUID());
  const [address, issuer, hosts] = await Promise.all([
    checkAddress(config, url ?? config.baseUrl, url !== null, secrets),
    checkIssuer(config),
    attempt('channels', 'Set the SECRET_KEY of the first start.', () =>
      checkChannels(channels, config, secrets),
    ),
  ]);
  return [...machine, ...stored, ...address, ...issuer, ...hosts];
}

export async function doctor(args: readonly string[]): Promise<void> {
  const options = parse(args);
  await answer({ help: options.help ? help : null, json: options.json === true }, async () => {
    const findings = await findingsOf(addressOf(options.url), options.deep === true);
    const count = (outcome: CheckResult['outcome']): number =>
      findings.filter((one) => one.outcome === outcome).length;
    const [failures, warnings] = [count('failure'), count('warning')];
    if (failures > 0) process.exitCode = 1;
    const lines = findings.map(
      ({ check, outcome, detail, advice }) =>
        `${marks[outcome]}${check}: ${detail}${advice === null ? '' : ` ${advice}`}`,
    );
    return {
      result: { ok: failures === 0, failures, warnings, findings },
      words: [
        ...lines,
        `${counted(findings.length, 'check')}: ${counted(failures, 'failure')}, ${counted(warnings, 'warning')}.`,
      ],
    };
  });
}
