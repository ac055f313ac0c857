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
    summary: 'run unit tests of contracts, with their coverage',
    load: async () => (await import('./test.ts')).testCommand,
  },
  gate: {
    summary: 'judge the calls of a coding assistant that calls a hook before its tools',
    load: async () => (await import('./gate.ts')).gateCommand,
    // Assistants go on after any other code than that of a denial.
    failure: 2,
  },
  verify: {
    summary: 'check what the hub signed, offline',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  mcp: {
    summary: 'stand before an MCP server and govern the calls of its tools',
    load: async () => (await import('./mcp.ts')).mcpCommand,
  },
};

const help = `Usage: reeve-agent <command> [options]

Commands:
${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(8)}${summary}`)
  .join('\n')}

reeve-agent <command> --help says more.
`;

/** Runs a command. @returns the exit code: 0 well, 1 the command found something, 2 it was called wrongly */
export async function run(argv: readonly string[]): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(help);
    return name === undefined ? 2 : 0;
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) {
    process.stderr.write(`reeve-agent: unknown command ${JSON.stringify(name)}\n\n${help}`);
    return 2;
  }
  // What stands behind -- is another program's.
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
      process.stderr.write(`reeve-agent ${name}: ${error.message}\nreeve-agent ${name} --help says more.\n`);
      return 2;
    }
    if (entry.failure === undefined) throw error;
    process.stderr.write(`reeve-agent ${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    return entry.failure;
  }
}

process.exitCode = await run(process.argv.slice(2));
