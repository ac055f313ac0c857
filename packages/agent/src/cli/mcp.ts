// `reeve-agent mcp`: the options of the proxy, its guard, and the two ways in which an agent reaches it.
import { join } from 'node:path';
import { systemClock } from '../clock.ts';
import { processVariables } from '../environment.ts';
import { ConfigurationError } from '../failure.ts';
import { type ContractFinding, textOf } from '../guard/findings.ts';
import { Guard } from '../guard/guard.ts';
import { addressOf } from '../http.ts';
import { HubClient } from '../hub.ts';
import { PinsRejectedError } from '../tools/document.ts';
import type { ToolPins } from '../tools/tool-pins.ts';
import { type Command, parseOptions, UsageError } from './command.ts';
import {
  type ConnectionPlan,
  connectionHelp,
  connectionOptions,
  connectOptionsOf,
  makeState,
  planConnection,
} from './connection.ts';
import { childServer } from './mcp/child.ts';
import type { Connect } from './mcp/connection.ts';
import { type ListenAddress, listenAddress, McpListener } from './mcp/listener.ts';
import { remoteServer } from './mcp/remote.ts';
import { serveStdio } from './mcp/stdio.ts';
import { deferSignals } from './mcp/stop-signals.ts';
import { proxyPins, serverLabel } from './proxy-pins.ts';
import { proxyRounds } from './proxy-rounds.ts';
import { proxyTasks } from './proxy-tasks.ts';

const help = `Usage: reeve-agent mcp [options] -- COMMAND [ARGUMENT...]
       reeve-agent mcp [options] --upstream URL

Judges every tool call to an MCP server, without changes to the agent or the server. The server is a command that uses standard input and
output, or an address with streamable HTTP.

Options:
${connectionHelp}  --upstream URL       a server with streamable HTTP
  --header 'NAME: V'   header for every request to that server; can be repeated
  --listen ADDRESS     serve agents with streamable HTTP at PORT or HOST:PORT, path /mcp; default: standard input and output.
                       If REEVE_MCP_TOKEN is set, agents send it as a bearer token; a host other than loopback needs it
  --server NAME        label of the server for its tool pins; default: its address, or the words of the command
  --pin-mode MODE      observe, hold or deny: whether changed tools are refused while no pins of a hub say so; default: observe
  --pins FILE          accepted tools, without a hub; reeve-agent pins accept writes the file
  --session-meta KEY   member of a request's _meta that names the session whose limits count the call; default: clients cannot
                       choose: one session for each connection, or for all clients of revision 2026-07-28 that share --listen
  --input-timeout S    seconds that a server's question may wait for the answer of the client's user; default: 600
  --hide               hide tools that contracts refuse for all arguments
  --spool FILE         file for unsent events; one proxy per file

Contracts that need an approval ask at the hub. A client that knows tasks gets a task instead of waiting. A contract whose \`then\` has
\`metadata: { elicit: true }\` can ask the user of the MCP client instead, if the client supports elicitation.

Exit code: 0 if the agent ended the session, 1 if the server or the contracts are unusable, 2 for wrong arguments.
`;

const options = {
  ...connectionOptions,
  upstream: { type: 'string' },
  header: { type: 'string', multiple: true },
  listen: { type: 'string' },
  hide: { type: 'boolean' },
  'input-timeout': { type: 'string' },
  'session-meta': { type: 'string' },
  server: { type: 'string' },
  'pin-mode': { type: 'string' },
  pins: { type: 'string' },
  spool: { type: 'string' },
} as const;

/** Standard output is the agent's. */
const writeLog = (text: string): void => void process.stderr.write(`reeve-agent mcp: ${text}\n`);

export const mcpCommand: Command = {
  help,
  async run(args) {
    const { values, positionals } = parseOptions(args, options);
    const connect = serverOf(values.upstream, values.header ?? [], positionals, values.listen === undefined);
    const listen =
      values.listen === undefined ? null : listenAddress(values.listen, processVariables.REEVE_MCP_TOKEN);
    const inputTimeout = millisecondsOf(values['input-timeout']);
    const plan = await planConnection(values);
    let changed: () => void = () => {};
    let guard: Guard;
    let pins: ToolPins;
    try {
      pins = await proxyPins(values, { upstream: values.upstream, command: positionals }, plan, {
        writeLog,
        changed: () => changed(),
      });
      guard = await guardOf(plan, values.spool, () => changed(), pins);
    } catch (failure) {
      const isExpected =
        failure instanceof ConfigurationError ||
        failure instanceof TypeError ||
        failure instanceof PinsRejectedError;
      if (!isExpected) throw failure;
      writeLog(failure.message);
      return 1;
    }
    const label = values.server ?? serverLabel({ upstream: values.upstream, command: positionals });
    const proxy = {
      guard,
      clock: systemClock,
      hide: values.hide ?? false,
      connect,
      eras: { legacy: null, modern: null },
      inputTimeout,
      sessionMeta: values['session-meta'],
      isRemote: values.upstream !== undefined,
      pins,
      rounds: await proxyRounds(plan.state, label, inputTimeout),
      tasks: proxyTasks({ plan, label, listen, guard, writeLog }),
      writeLog,
    };
    const onChange = (task: () => void): void => {
      changed = task;
    };
    const signals = deferSignals();
    try {
      if (listen) return await listenUntil(signals.first, new McpListener(proxy, listen), listen, onChange);
      return await serveStdio(proxy, process.stdin, process.stdout, onChange, signals.first);
    } finally {
      pins.close();
      await guard.close().catch((failure: unknown) => writeLog(`unsent events: ${messageOf(failure)}`));
      signals.release();
    }
  },
};

async function listenUntil(
  stopped: Promise<void>,
  listener: McpListener,
  { host }: ListenAddress,
  onChange: (task: () => void) => void,
): Promise<number> {
  onChange(() => listener.toolsChanged());
  const port = await listener.start();
  writeLog(`listening on http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`);
  await stopped;
  await listener.close();
  return 0;
}

/** @throws UsageError */
function millisecondsOf(seconds: string | undefined): number {
  if (seconds === undefined) return 600_000;
  if (!/^\d{1,5}$/.test(seconds) || Number(seconds) === 0)
    throw new UsageError('--input-timeout must be 1 to 99999 seconds');
  return Number(seconds) * 1000;
}

/** @throws UsageError */
function serverOf(
  upstream: string | undefined,
  argv: readonly string[],
  [command, ...args]: readonly string[],
  overStdio: boolean,
): Connect {
  if ((upstream === undefined) === (command === undefined)) {
    throw new UsageError('name a server: a command behind --, or an address with --upstream');
  }
  if (command !== undefined) {
    if (argv.length > 0) throw new UsageError('--header is for a server over HTTP');
    return childServer(command, args, {
      clock: systemClock,
      writeLog,
      source: overStdio ? process.stdin : null,
    });
  }
  let url: string;
  try {
    // A server on another machine may speak plain http: what it is asked is the caller's choice.
    addressOf((upstream ?? '').replace(/[?#].*$/s, ''), true);
    url = new URL(upstream ?? '').href;
  } catch {
    throw new UsageError('--upstream must be an address that begins with https:// or http://');
  }
  const headers = argv.map((header): [string, string] => {
    const [, name, value] = /^([A-Za-z0-9-]+):\s*(\S.*)$/.exec(header) ?? [];
    if (name === undefined || value === undefined) throw new UsageError("--header must be 'NAME: VALUE'");
    return [name, value];
  });
  return remoteServer({ url, headers: Object.fromEntries(headers), clock: systemClock, writeLog });
}

/** @throws ConfigurationError, TypeError */
async function guardOf(
  plan: ConnectionPlan,
  spool: string | undefined,
  changed: () => void,
  pins: ToolPins,
): Promise<Guard> {
  const shared = {
    ...(spool === undefined ? {} : { spoolFile: spool }),
    onError: (failure: unknown, what: string) => writeLog(`${what}: ${messageOf(failure)}`),
    onFindings: (findings: readonly ContractFinding[]) => {
      for (const finding of findings) writeLog(`contracts: ${textOf(finding)}`);
    },
  };
  if (plan.contracts.length > 0) {
    const hub = plan.hub ? { hub: new HubClient(plan.hub) } : {};
    return Guard.fromFile(plan.contracts, { ...plan.guard, ...shared, ...hub });
  }
  await makeState(plan);
  if (!plan.hub) throw new UsageError(`no contracts in ${join(plan.state)}`);
  return Guard.connect({
    ...connectOptionsOf(plan, plan.hub),
    ...shared,
    onBundle: changed,
    onToolPins: (server) => pins.changed(server),
  });
}

const messageOf = (failure: unknown): string => {
  if (failure instanceof AggregateError) return failure.errors.map(messageOf).join('; ');
  return failure instanceof Error ? failure.message : String(failure);
};
