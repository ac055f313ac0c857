// Contracts for commands that govern calls: from a hub, whose last good document the command keeps, or from files.
// Options, files and the guard made from both.
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { processVariables } from '../environment.ts';
import type { ConnectOptions, GuardOptions } from '../guard/options.ts';
import type { HubOptions } from '../hub.ts';
import { type Options, type Parsed, UsageError } from './command.ts';

export const connectionOptions = {
  hub: { type: 'string' },
  key: { type: 'string' },
  agent: { type: 'string' },
  env: { type: 'string' },
  bundle: { type: 'string' },
  contracts: { type: 'string', multiple: true },
  state: { type: 'string' },
  tools: { type: 'string' },
  user: { type: 'string' },
  role: { type: 'string' },
  'agent-header': { type: 'string' },
  'path-prefix': { type: 'string' },
  'allow-insecure': { type: 'boolean' },
} as const satisfies Options;

export const connectionHelp = `  --hub URL            the hub, such as https://hub.example.com; or REEVE_URL
  --key KEY            its API key; prefer REEVE_KEY, which other users of the machine cannot see
  --agent ID           id of this agent at the hub; default: default
  --env NAME           environment of the key; default: production
  --bundle NAME        bundle to follow; default: the bundle that the hub assigns
  --contracts FILE     file of contracts instead of the hub's; several are layers. With --hub, the hub still gets
                       events and approvals
  --state FOLDER       folder with the last good document and unsent events; default: ~/.reeve
  --tools FILE         kinds of tool arguments, for sandboxes: {search: {where: path}}
  --user ID, --role R  principal of all calls
  --agent-header NAME  header with the agent id; default: X-Service-Agent-Id
  --path-prefix PATH   prefix of every path on the hub; default: /api/v1
  --allow-insecure     allow plain http to another machine
`;

type Values = Parsed<typeof connectionOptions>['values'];

/** Source of contracts, and place of kept files. */
export interface ConnectionPlan {
  /** Null: no hub. */
  readonly hub: HubOptions | null;
  readonly bundleName: string | null;
  /** Paths of contracts; empty: the hub's. */
  readonly contracts: readonly string[];
  readonly state: string;
  readonly guard: Pick<
    GuardOptions,
    'toolArguments' | 'commandProfiles' | 'isolation' | 'principal' | 'environment'
  >;
  /** Names hub, key, environment, agent and bundle without telling the key. */
  readonly scope: string;
}

/** @throws UsageError */
export async function planConnection(values: Values): Promise<ConnectionPlan> {
  const { contracts = [], bundle } = values;
  const url = values.hub ?? processVariables.REEVE_URL;
  const apiKey = values.key ?? processVariables.REEVE_KEY;
  const { agent = 'default', env } = values;
  if (!url && contracts.length === 0)
    throw new UsageError('name a hub with --hub, or contracts with --contracts');
  if (url && !apiKey) throw new UsageError('the hub needs an API key: set REEVE_KEY');
  const header = values['agent-header'];
  const prefix = values['path-prefix'];
  const hub: HubOptions | null = url
    ? {
        url,
        apiKey: apiKey ?? '',
        agentId: agent,
        ...(env === undefined ? {} : { env }),
        ...(header === undefined ? {} : { agentIdHeader: header }),
        ...(prefix === undefined ? {} : { pathPrefix: prefix }),
        ...(values['allow-insecure'] ? { allowInsecure: true } : {}),
      }
    : null;
  const { user, role } = values;
  const principal = {
    ...(user === undefined ? {} : { user_id: user }),
    ...(role === undefined ? {} : { role }),
  };
  // It reads YAML, which a gate does not load otherwise.
  const { tools } = values;
  const settings = tools === undefined ? null : await (await import('./tools.ts')).readToolSettings(tools);
  return {
    hub,
    bundleName: bundle ?? null,
    contracts,
    state: values.state ?? join(homedir(), '.reeve'),
    guard: {
      ...(settings
        ? {
            toolArguments: settings.toolArguments,
            commandProfiles: settings.commandProfiles,
            isolation: settings.isolation,
          }
        : {}),
      ...(Object.keys(principal).length > 0 ? { principal } : {}),
      ...(env === undefined || hub ? {} : { environment: env }),
    },
    scope: createHash('sha256')
      .update(JSON.stringify([url, apiKey, env, agent, bundle, contracts]))
      .digest('hex')
      .slice(0, 16),
  };
}

/** The options of a guard that follows the hub, with its last good document kept in the folder of state. */
export const connectOptionsOf = (plan: ConnectionPlan, hub: HubOptions): ConnectOptions => {
  const { environment: _environment, ...guard } = plan.guard;
  return {
    ...hub,
    ...guard,
    ...(plan.bundleName === null ? {} : { bundleName: plan.bundleName }),
    cacheFile: join(plan.state, `${plan.scope}.document.json`),
  };
};

/** Makes the folder of state, for its owner alone. @throws UsageError */
export async function makeState({ state }: ConnectionPlan): Promise<void> {
  await mkdir(state, { recursive: true, mode: 0o700 }).catch((failure: Error) => {
    throw new UsageError(`cannot create the state folder: ${failure.message}`);
  });
}
