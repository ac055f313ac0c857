#!/usr/bin/env node
// The program `reeve-agent`: chooses the command and reports a usage error. Each command is a file of its own.
import { checkCommand } from './check.ts';
import { type Command, UsageError } from './command.ts';
import { testCommand } from './test.ts';
import { verifyCommand } from './verify.ts';

const commands: { readonly [name: string]: Command } = {
  check: checkCommand,
  test: testCommand,
  verify: verifyCommand,
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
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    process.stderr.write(`reeve-agent: unknown command ${JSON.stringify(name)}\n\n${help}`);
    return 2;
  }
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(command.help);
    return 0;
  }
  try {
    return await command.run(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`reeve-agent ${name}: ${error.message}\nreeve-agent ${name} --help says more.\n`);
    return 2;
  }
}

process.exitCode = await run(process.argv.slice(2));
