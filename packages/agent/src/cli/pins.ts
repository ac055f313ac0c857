// `reeve-agent pins`: shows the tools that a server listed last to a proxy without a hub, and accepts them.
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { acceptLocally, readLocalPins } from '../tools/local.ts';
import { type Command, parseOptions, UsageError } from './command.ts';
import { listingFile } from './proxy-pins.ts';

const help = `Usage: reeve-agent pins list --pins FILE --server NAME [--state FOLDER]
       reeve-agent pins accept --pins FILE --server NAME [--state FOLDER] [TOOL...]

Shows and accepts the tools that an MCP server listed last to reeve-agent mcp without a hub. Without a TOOL, accept accepts all of them.

Options:
  --pins FILE      file of accepted tools, which reeve-agent mcp --pins reads at its start
  --server NAME    label of the server, as the proxy has it
  --state FOLDER   state folder of the proxy; default: ~/.reeve

Exit code: 0 if all tools are accepted, 1 if the server listed no such tool or list found undecided ones, 2 for wrong arguments.
`;

const options = {
  pins: { type: 'string' },
  server: { type: 'string' },
  state: { type: 'string' },
} as const;

interface ListedTool {
  readonly name: string;
  readonly fingerprint: string;
}

async function readListing(state: string, server: string): Promise<readonly ListedTool[]> {
  const path = listingFile(state, server);
  const text = await readFile(path, 'utf8').catch(() => {
    throw new UsageError(`no proxy has listed the tools of ${server} with this state folder`);
  });
  return (JSON.parse(text) as { readonly tools: readonly ListedTool[] }).tools;
}

export const pinsCommand: Command = {
  help,
  async run(args) {
    const { values, positionals } = parseOptions(args, options);
    const [action, ...names] = positionals;
    const { pins: file, server, state = join(homedir(), '.reeve') } = values;
    if (action !== 'list' && action !== 'accept') throw new UsageError('the action is list or accept');
    if (file === undefined || server === undefined) throw new UsageError('--pins and --server are missing');
    const tools = await readListing(state, server);
    const missing = names.filter((name) => !tools.some((tool) => tool.name === name));
    if (missing.length > 0) {
      process.stderr.write(
        `reeve-agent pins: the server listed no tool ${missing.map((n) => JSON.stringify(n)).join(', ')}\n`,
      );
      return 1;
    }
    const chosen = tools.filter(({ name }) => names.length === 0 || names.includes(name));
    if (action === 'accept') {
      await acceptLocally(
        file,
        server,
        chosen.map(({ name, fingerprint }) => ({ tool: name, fingerprint })),
      );
    }
    const pins = await readLocalPins(file);
    const decided = Object.hasOwn(pins, server) ? (pins[server] ?? []) : [];
    let undecided = 0;
    for (const { name, fingerprint } of chosen) {
      const pin = decided.find((one) => one.tool === name && one.fingerprint === fingerprint);
      if (!pin) undecided++;
      process.stdout.write(`${pin?.decision ?? 'undecided'}  ${JSON.stringify(name)}  ${fingerprint}\n`);
    }
    return undecided === 0 ? 0 : 1;
  },
};
