#!/usr/bin/env node
// The program `reeve-agent`: chooses the command and reports a usage error. Each command is a file of its own, loaded
// when it is called.
import type { Command } from './command.ts';

interface Entry {
  /** One line for the list of commands. */
  readonly summary: string;
  readonly load: () => Promise<Command>;
  /** The exit code when it fails in a way that nobody foresaw; default: that of Node for an error. */
  readonly failure?: number;
}

const commands: { readonly [name: string]: Entry } = {
  check: {
    summary: 'compile and lint files of contracts',
    load: async () => (await import('./check.ts')).checkCommand,
  },
  test: {
    summary: 'run unit tests of contracts and print their coverage',
    load: async () => (await import('./test.ts')).testCommand,
  },
  gate: {
    summary: 'judge the tool calls of a coding assistant, as its hook',
    load: async () => (await import('./gate.ts')).gateCommand,
    // Assistants go on after any other code than that of a denial.
    failure: 2,
  },
  verify: {
    summary: 'verify signed exports of the hub, offline',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  pins: {
    summary: 'accept the tools of an MCP server for a proxy without a hub',
    load: async () => (await import('./pins.ts')).pinsCommand,
  },
  mcp: {
    summary: 'govern the tool calls to an MCP server, as its proxy',
    load: async () => (await import('./mcp.ts')).mcpCommand,
  },
};

const help = `Usage: reeve-agent <command> [options]

Commands:
${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(8)}${summary}`)
  .join('\n')}

reeve-agent <command> --help describes a command. reeve-agent --version prints the version.
`;

/** The version of the package that this file belongs to. @throws Error without one */
async function readVersion(): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  for (let folder = new URL('.', import.meta.url); folder.pathname !== '/'; folder = new URL('..', folder)) {
    const text = await readFile(new URL('package.json', folder), 'utf8').catch(() => '{}');
    const { name, version } = JSON.parse(text) as { readonly name?: string; readonly version?: string };
    if (name !== undefined && version !== undefined) return version;
  }
  throw new Error('the package of this program has no version');
}

/** Runs a command. @returns the exit code: 0 well, 1 the command found something, 2 it was called wrongly */
export async function run(argv: readonly string[]): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(help);
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-V') {
    process.stdout.write(`${await readVersion()}\n`);
    return 0;
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) {
    process.stderr.write(`reeve-agent: unknown command ${JSON.stringify(name)}\n\n${help}`);
    return 2;
  }
  // Arguments behind -- belong to another program.
  const own = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  try {
    const command = await entry.load();
    if (own.includes('--help') || own.includes('-h')) {
      process.stdout.write(command.help);
      return 0;
    }
    return await command.run(args);
  } catch (error) {
    // Its class is the command's, which only some commands load.
    if (error instanceof Error && error.name === 'UsageError') {
      process.stderr.write(`reeve-agent ${name}: ${error.message}\nSee reeve-agent ${name} --help.\n`);
      return 2;
    }
    if (entry.failure === undefined) throw error;
    process.stderr.write(`reeve-agent ${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    return entry.failure;
  }
}

process.exitCode = await run(process.argv.slice(2));
