// Checks of the settings and of this machine.
import { maxConnections } from '../../../adapters/node/descriptors.ts';
import { loadUws } from '../../../adapters/uws/load.ts';
import { nodeNotice } from '../commands/node-support.ts';
import type { Config } from '../config.ts';
import { attempt, type CheckResult, ok, warning } from './check-result.ts';

/** Fewer connections than this end with a fleet of a usual size. */
const fewConnections = 10_000;

const settingsOf = ({ warnings }: Config): readonly CheckResult[] =>
  warnings.length === 0
    ? [ok('settings', 'All settings fit.')]
    : warnings.map((text) => warning('settings', text, 'Correct the name, or remove it.'));

function nodeVersion(): CheckResult {
  const notice = nodeNotice(process.versions.node);
  return notice === null
    ? ok('node', `Node ${process.versions.node}.`)
    : warning('node', `Node ${process.versions.node} is out of support.`, 'Install Node 24 or 22.');
}

function descriptors(): CheckResult {
  const count = maxConnections();
  if (count >= fewConnections)
    return ok(
      'descriptors',
      count === Number.POSITIVE_INFINITY ? 'No limit.' : `Room for ${count} connections.`,
    );
  return warning(
    'descriptors',
    `Room for ${count} connections.`,
    'Raise the limit of open files (ulimit -n, LimitNOFILE of systemd) to the number of agents and 1,000 more.',
  );
}

export async function checkMachine(config: Config): Promise<readonly CheckResult[]> {
  const native =
    config.httpServer === 'node'
      ? [ok('native_server', 'HTTP_SERVER is node: the native server is not used.')]
      : await attempt(
          'native_server',
          'Set HTTP_SERVER=node, or use a Node and a system that it supports.',
          async () => {
            await loadUws();
            return ok('native_server', 'The native HTTP server loads.');
          },
        );
  // Without it the hub is slower, and starts all the same.
  const results = native.map((one) =>
    one.outcome === 'failure' && config.httpServer === 'auto' ? { ...one, outcome: 'warning' as const } : one,
  );
  return [...settingsOf(config), nodeVersion(), ...results, descriptors()];
}
